import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends requests to a server from many threads, each with one connection; prints the number of answers. */
public final class HttpClients {
    private static final AtomicInteger ANSWERED = new AtomicInteger();

    /** Arguments: port, threads, requests of each. */
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        int requests = Integer.parseInt(args[2]);
        List<Thread> threads = new ArrayList<>();
        for (int thread = 0; thread < Integer.parseInt(args[1]); thread++) {
            threads.add(new Thread(() -> ask(port, requests)));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(ANSWERED + " answered");
    }

    private static void ask(int port, int requests) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            OutputStream out = socket.getOutputStream();
            for (int number = 1; number <= requests; number++) {
                String request = "GET /?number=" + number + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
                out.write(request.getBytes(StandardCharsets.US_ASCII));
                String expected = number % 10 == 0 ? "refused" : Long.toString(4L * number);
                String answer = read(in);
                if (!answer.equals(expected)) {
                    throw new IOException(number + " is answered by " + answer);
                }
                ANSWERED.incrementAndGet();
            }
        } catch (IOException error) {
            System.out.println(error);
        }
    }

    private static String read(DataInputStream in) throws IOException {
        int length = -1;
        String status = line(in);
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            if (line.toLowerCase().startsWith("content-length:")) {
                length = Integer.parseInt(line.substring(15).trim());
            }
        }
        if (!status.startsWith("HTTP/1.1 200") || length < 0) {
            throw new IOException(status);
        }
        byte[] body = new byte[length];
        in.readFully(body);
        return new String(body, StandardCharsets.UTF_8);
    }

    private static String line(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.readUnsignedByte(); c != '\n'; c = in.readUnsignedByte()) {
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }
}
