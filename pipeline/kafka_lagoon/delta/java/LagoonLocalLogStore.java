package io.delta.storage;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Iterator;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * Creates a commit in a folder of this machine by a hard link to a whole file, which fails where the name is taken.
 *
 * <p>Delta's own looks for the name and then renames, which two processes can do at once, and it does so through Hadoop, which
 * starts chmod and readlink several times for each commit. Janino compiles this class: it has no generic types in the signatures
 * of methods.
 */
public class LagoonLocalLogStore extends HadoopFileSystemLogStore {
  public LagoonLocalLogStore(Configuration conf) {
    super(conf);
  }

  public void write(Path path, Iterator lines, Boolean overwrite, Configuration conf) throws IOException {
    java.nio.file.Path target = Paths.get(path.toUri().getPath(), new String[0]);
    java.nio.file.Path whole = Paths.get(createTempPath(path).toUri().getPath(), new String[0]);
    try {
      Files.write(whole, joined(lines), new OpenOption[0]);
      Files.deleteIfExists(target.resolveSibling("." + target.getFileName() + ".crc")); // Hadoop's, of an earlier content
      if (overwrite.booleanValue()) {
        move(whole, target);
      } else {
        create(whole, target);
      }
    } finally {
      Files.deleteIfExists(whole);
    }
  }

  /** The files of a log from a name on. Hadoop would look up the length and times of every older commit, too. */
  public Iterator listFrom(Path path, Configuration conf) throws IOException {
    Path folder = path.getFileSystem(conf).makeQualified(path.getParent());
    File[] found = new File(folder.toUri().getPath()).listFiles();
    if (found == null) {
      throw new FileNotFoundException("No such folder: " + folder);
    }
    TreeMap files = new TreeMap();
    for (int i = 0; i < found.length; i++) {
      String name = found[i].getName();
      if (name.compareTo(path.getName()) >= 0 && !name.startsWith(".")) {
        // As Hadoop does: as a text, a name with a colon would be a scheme.
        FileStatus file = status(found[i], new Path(folder, new Path(null, null, name)));
        if (found[i].exists()) { // nobody has deleted it meanwhile: its length and time are true
          files.put(name, file);
        }
      }
    }
    return files.values().iterator();
  }

  public Boolean isPartialWriteVisible(Path path, Configuration conf) {
    return Boolean.TRUE;
  }

  /**
   * Where the link fails without a file of that name, there are no hard links, as on some network file systems: a rename then does
   * as it does in Delta's own, under the lock of our runs. NFS may say that the name is taken by the link that it has just made.
   */
  private static void create(java.nio.file.Path whole, java.nio.file.Path target) throws IOException {
    try {
      Files.createLink(target, whole);
    } catch (FileSystemException error) {
      if (!Files.exists(target, new LinkOption[0])) {
        move(whole, target);
      } else if (!Files.isSameFile(target, whole)) {
        throw new FileAlreadyExistsException(target.toString());
      }
    }
  }

  private static FileStatus status(File file, Path path) {
    return new FileStatus(file.length(), file.isDirectory(), 1, 0, file.lastModified(), path);
  }

  private static void move(java.nio.file.Path whole, java.nio.file.Path target) throws IOException {
    Files.move(whole, target, new java.nio.file.CopyOption[] {StandardCopyOption.ATOMIC_MOVE});
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
