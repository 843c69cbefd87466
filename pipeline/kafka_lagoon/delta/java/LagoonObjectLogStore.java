package io.delta.storage;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Creates a commit in an object store only if its version has none, by a request that the store refuses where an object is: on S3 a
 * PUT with If-None-Match, on Google's an upload with ifGenerationMatch=0, on Azure's the rename of a temporary file.
 *
 * <p>On s3a fs.create(path, false) does not exclude: it looks whether an object is there, and then writes. On gs it sends the
 * condition. On abfs it does, too, but others see the file before it has its content. Janino compiles this class, and has no
 * generic types in the signatures of methods.
 */
public class LagoonObjectLogStore extends HadoopFileSystemLogStore {
  private static final String GOOGLE = "gs";
  private static final String AZURE = "abfs"; // and abfss
  private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";
  private static final String ABORTABLE = "fs.capability.outputstream.abortable";
  private static final int ATTEMPTS = 4;
  // Delta Kernel makes a commit again that failed by an IOException, 30 times. The connectors repeat requests to a store that is
  // busy or silent, for a minute (Google's) or more, so such a commit would go on for hours.
  private static final long REPEATED_NANOS = 30_000_000_000L;

  public LagoonObjectLogStore(Configuration conf) {
    super(conf);
  }

  public void write(Path path, Iterator lines, Boolean overwrite, Configuration conf) throws IOException {
    FileSystem files = path.getFileSystem(conf);
    byte[] content = joined(lines);
    if (overwrite.booleanValue()) {
      OutputStream out = files.create(path, true);
      try {
        out.write(content);
      } finally {
        out.close();
      }
    } else {
      long started = System.nanoTime();
      try {
        create(files, path, content, conf);
      } catch (java.nio.file.FileAlreadyExistsException error) {
        throw error;
      } catch (IOException error) {
        if (System.nanoTime() - started > REPEATED_NANOS) {
          throw new UncheckedIOException(error);
        }
        throw error;
      }
    }
  }

  public Boolean isPartialWriteVisible(Path path, Configuration conf) {
    return Boolean.valueOf(isAzure(path));
  }

  /**
   * Decides a failed attempt by what is stored. Every commit has an id of its own, so equal content is ours: the answer to
   * our request was lost, and a repeated request was refused. S3's 409 says that another request for this version was under way.
   */
  private void create(FileSystem files, Path path, byte[] content, Configuration conf) throws IOException {
    for (int attempt = 1; true; attempt++) {
      try {
        if (isAzure(path)) {
          rename(path, content, conf);
        } else {
          put(files, path, content);
        }
        return;
      } catch (IOException error) {
        byte[] stored = stored(files, path);
        if (stored != null && Arrays.equals(stored, content)) {
          return;
        }
        if (stored != null) {
          throw new java.nio.file.FileAlreadyExistsException(path.toString());
        }
        if (attempt == ATTEMPTS || !String.valueOf(error.getMessage()).contains("Status Code: 409")) {
          throw error;
        }
      }
    }
  }

  private static boolean isAzure(Path path) {
    return path.toUri().getScheme().startsWith(AZURE);
  }

  /** Delta reports a rename that was refused, and not because the version exists, by IllegalStateException. */
  private void rename(Path path, byte[] content, Configuration conf) throws IOException {
    String lines = new String(content, 0, content.length - 1, StandardCharsets.UTF_8); // it ends each line
    try {
      writeWithRename(path, Collections.singletonList(lines).iterator(), Boolean.FALSE, conf);
    } catch (IllegalStateException error) {
      throw new IOException(error.getMessage(), error);
    }
  }

  private void put(FileSystem files, Path path, byte[] content) throws IOException {
    boolean isGoogle = GOOGLE.equals(path.toUri().getScheme());
    FSDataOutputStream out = isGoogle ? files.create(path, false) : conditional(files, path);
    try {
      out.write(content);
    } catch (IOException error) { // to close it would store a part of a commit
      if (out.hasCapability(ABORTABLE)) {
        out.abort();
      }
      throw error;
    }
    out.close();
  }

  /** Refuses stores and versions of Hadoop that cannot do this: `must` fails there. */
  private static FSDataOutputStream conditional(FileSystem files, Path path) throws IOException {
    FSDataOutputStreamBuilder builder = files.createFile(path);
    builder.create();
    builder.recursive();
    builder.overwrite(false);
    builder.must(CONDITIONAL, "true");
    return (FSDataOutputStream) builder.build();
  }

  private static byte[] stored(FileSystem files, Path path) throws IOException {
    FSDataInputStream in;
    try {
      in = files.open(path);
    } catch (FileNotFoundException error) {
      return null;
    }
    try {
      return in.readAllBytes();
    } finally {
      in.close();
    }
  }

  private static byte[] joined(Iterator lines) throws IOException {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    while (lines.hasNext()) {
      content.write(((String) lines.next()).getBytes(StandardCharsets.UTF_8));
      content.write('\n');
    }
    return content.toByteArray();
  }
}
