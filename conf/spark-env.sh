# Sourced by spark-submit. The driver's JVM on this machine starts from the classes that `lagoon path classes` (make setup) has
# archived, which saves a third of the processor time of a short job. All of Spark's jars are there, in another order; a snapshot
# leaves out those that serve clusters, Hive and MLlib. Whoever names a class path or a cluster starts as Spark alone would start.

lagoon_class_archive() {
  local jars=$SPARK_HOME/jars defaults=$SPARK_CONF_DIR/spark-defaults.conf kept size first rest argument
  [ "$1" = org.apache.spark.deploy.SparkSubmit ] || return
  [ -z "$MASTER$HADOOP_CONF_DIR$YARN_CONF_DIR$SPARK_DIST_CLASSPATH$SPARK_PREPEND_CLASSES$SPARK_SUBMIT_OPTS" ] || return
  case " $* " in *driver-class-path*|*extraClassPath*|*deploy-mode*|*properties-file*|*spark.master*|*" --remote "*) return ;; esac
  case " $* " in *" --master local"[\ \[]*) ;; *" --master"*) return ;; esac
  ! grep -Eqs '^[[:space:]]*spark\.(master|remote|driver\.extraClassPath)[[:space:]=]' "$defaults" || return

  if [ -n "$LAGOON_CACHE" ]; then kept=$LAGOON_CACHE/classes
  elif [ -f "$SPARK_CONF_DIR/../pyproject.toml" ]; then kept=$SPARK_CONF_DIR/../.cache/classes
  else kept=$HOME/.cache/kafka-lagoon/classes
  fi
  # Made after the last change of these jars, not cut off, and not to be written by others: what is archived is run.
  [ -r "$kept/spark.jsa" ] && [ -r "$kept/spark.jsa.size" ] && [ -r "$kept/spark-class-path" ] || return
  [ "$kept/spark-class-path" -nt "$jars" ] && read -r size < "$kept/spark.jsa.size" || return
  [ -z "$(find -H "$kept" \( -perm -020 -o -perm -002 -o ! -user 0 ! -user "$EUID" \
    -o -name spark.jsa ! -size "${size}c" \) 2>&1)" ] || return
  { read -r first && read -r rest; } < "$kept/spark-class-path" || return
  case $first in "$jars/"*) ;; *) return ;; esac

  # Nothing of a snapshot's, which runs no query, needs the rest; jars and catalogs that somebody adds may.
  case " $* " in *" --jars "*|*" --packages "*|*spark.jars*|*spark.sql.catalog*|*spark.sql.hive*) ;; *)
    if ! grep -Eqs '^[[:space:]]*spark\.(jars|sql\.catalogImplementation|sql\.hive)' "$defaults"; then
      for argument; do [ "$argument" -ef "$SPARK_CONF_DIR/../jobs/snapshot.py" ] && rest=; done
    fi ;;
  esac
  SPARK_SUBMIT_OPTS="-cp \"$first:$SPARK_CONF_DIR/${rest:+:$rest}\" -XX:SharedArchiveFile=\"$kept/spark.jsa\" -Xlog:disable -Xlog:all=error:stderr"
  SPARK_LAUNCHER_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC $SPARK_LAUNCHER_OPTS"  # of the JVM that composes the command
}
lagoon_class_archive "$@"
unset -f lagoon_class_archive

# A driver without a cluster, and the processes of local-cluster, listen on loopback only.
case " $* " in
  *" --master local"*) SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-127.0.0.1}; export SPARK_LOCAL_IP ;;
esac

# In a locale that is C or not installed Java refuses paths with other letters than ASCII, which Python takes for UTF-8.
case $(locale charmap 2>/dev/null) in ANSI_*) LC_ALL=C.UTF-8; export LC_ALL ;; esac

# The JVM starts before a job has read its settings: a umask in the environment holds for both.
[ -z "$LAGOON_UMASK" ] || umask "$LAGOON_UMASK"

# Spark 4 adds a module for MLlib to every JVM, which warns of it each time: one line of noise for each job in a scheduler's log.
# Only for the JVM of a Python process that runs already (`lagoon ingest`): it ignores Ctrl-C, and so does this filter.
case " $* " in
  *" pyspark-shell "*)
    exec 2> >(exec grep --line-buffered --text --invert-match --line-regexp 'WARNING: Using incubator modules: jdk.incubator.vector' >&2) ;;
esac
