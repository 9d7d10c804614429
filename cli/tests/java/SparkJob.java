import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Counts words, groups, joins and sorts, on two threads, and prints the results. The argument is a folder for temporary
 * files.
 */
public final class SparkJob {
    private static final int LINES = 3000;

    public static void main(String[] args) {
        SparkSession spark = SparkSession.builder().master("local[2]").appName("job")
                .config("spark.ui.enabled", "false")
                .config("spark.driver.host", "localhost")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", "4")
                .config("spark.local.dir", args[0])
                .config("spark.sql.warehouse.dir", args[0])
                .getOrCreate();
        count(JavaSparkContext.fromSparkContext(spark.sparkContext()));
        tables(spark);
        spark.stop();
    }

    private static void count(JavaSparkContext context) {
        List<String> lines = new ArrayList<>();
        for (int line = 0; line < LINES; line++) {
            lines.add(line(line));
        }
        JavaRDD<String> words = context.parallelize(lines, 4).flatMap(SparkJob::words);
        List<Tuple2<String, Integer>> counts = words.mapToPair(SparkJob::one).reduceByKey(SparkJob::sum).collect();
        List<String> sorted = new ArrayList<>();
        for (Tuple2<String, Integer> count : counts) {
            sorted.add(count._1() + " " + count._2());
        }
        sorted.sort(null);
        System.out.println(sorted);
        System.out.println(words.sortBy(word -> word, false, 3).take(5));
    }

    private static String line(int number) {
        StringBuilder line = new StringBuilder();
        for (int word = 0; word < 8; word++) {
            line.append(word == 0 ? "" : " ").append("word").append((number * 31 + word * word * 17) % 101);
        }
        return line.toString();
    }

    private static Iterator<String> words(String line) {
        return Arrays.asList(line.split(" ")).iterator();
    }

    private static Tuple2<String, Integer> one(String word) {
        return new Tuple2<>(word, 1);
    }

    private static int sum(int a, int b) {
        return Math.addExact(a, b);
    }

    private static void tables(SparkSession spark) {
        spark.range(0, 200000, 1, 4).selectExpr("id % 97 AS k", "(id * id) % 1009 AS v").createOrReplaceTempView("numbers");
        spark.range(0, 97).selectExpr("id AS k", "concat('name', id % 7) AS name").createOrReplaceTempView("names");
        String query = "SELECT name, count(*) AS n, sum(v) AS s, max(v) AS m FROM numbers JOIN names USING (k) "
                + "WHERE v % 3 <> 1 GROUP BY name HAVING sum(v) > 10 ORDER BY s DESC, name";
        for (Row row : spark.sql(query).collectAsList()) {
            System.out.println(row);
        }
    }
}
