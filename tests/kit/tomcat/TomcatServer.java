import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/** A threaded server: prints its port, answers requests until its input ends, then prints the number of answers. */
public final class TomcatServer {
    private static final AtomicInteger ANSWERS = new AtomicInteger();
    private static final AtomicInteger REFUSALS = new AtomicInteger();

    /** Arguments: a folder of its own, and whether its threads are virtual. */
    public static void main(String[] args) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        Connector connector = new Connector();
        connector.setPort(0);
        set(connector, "address", "127.0.0.1");
        set(connector, "maxKeepAliveRequests", "-1");
        set(connector, "useVirtualThreads", args[1]);
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "answers", new Answers());
        context.addServletMappingDecoded("/*", "answers");
        tomcat.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(tomcat), "stop"));
        System.out.println(connector.getLocalPort());
        tomcat.getServer().await();
    }

    private static void set(Connector connector, String name, String value) {
        if (!connector.setProperty(name, value)) {
            throw new IllegalArgumentException(name);
        }
    }

    private static void stop(Tomcat tomcat) {
        try {
            tomcat.stop();
        } catch (Exception error) {
            System.out.println(error);
        }
        System.out.println(ANSWERS + " answers, " + REFUSALS + " of them refusals");
    }

    private static final class Answers extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            int number = Integer.parseInt(request.getParameter("number"));
            String answer;
            try {
                answer = Long.toString(answer(number));
            } catch (IllegalStateException refusal) {
                REFUSALS.incrementAndGet();
                answer = refusal.getMessage();
            }
            ANSWERS.incrementAndGet();
            byte[] body = answer.getBytes("UTF-8");
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
        }

        private static long answer(int number) {
            long sum = 0;
            for (int at = 0; at < 4; at++) {
                sum += part(number, at);
            }
            return sum;
        }

        /** Computes a part of an answer. Every tenth number is refused in its last part. */
        private static long part(int number, int at) {
            if (number % 10 == 0 && at == 3) {
                throw new IllegalStateException("refused");
            }
            return number;
        }
    }
}
