package io.delta.storage;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Creates a commit only if its version has none, by a PUT with If-None-Match, which S3 refuses where an object is.
 *
 * <p>fs.create(path, false) does not exclude on s3a: it looks whether an object is there, and then writes. Janino compiles
 * this class, and has no generic types in the signatures of methods.
 */
public class LagoonS3LogStore extends HadoopFileSystemLogStore {
  private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";
  private static final int ATTEMPTS = 4;

  public LagoonS3LogStore(Configuration conf) {
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
      create(files, path, content);
    }
  }

  public Boolean isPartialWriteVisible(Path path, Configuration conf) {
    return Boolean.FALSE;
  }

  /**
   * Decides a failed attempt by what is stored. Every commit has an id of its own, so equal content is ours: the answer to
   * our request was lost, and a repeated request was refused. 409 says that another request for this version was under way.
   */
  private void create(FileSystem files, Path path, byte[] content) throws IOException {
    for (int attempt = 1; true; attempt++) {
      try {
        put(files, path, content);
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

  /** Refuses stores and versions of Hadoop that cannot do this: `must` fails there. */
  private void put(FileSystem files, Path path, byte[] content) throws IOException {
    FSDataOutputStreamBuilder builder = files.createFile(path);
    builder.create();
    builder.recursive();
    builder.overwrite(false);
    builder.must(CONDITIONAL, "true");
    FSDataOutputStream out = (FSDataOutputStream) builder.build();
    try {
      out.write(content);
    } catch (IOException error) {
      out.abort(); // to close it would store a part of a commit
      throw error;
    }
    out.close();
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
