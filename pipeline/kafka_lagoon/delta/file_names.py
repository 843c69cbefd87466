"""Makes names of files and folders from text that a broker or a user has chosen, such as a cluster id.

A name is always one component of a path, whatever the text is, and two texts never have the same name.
"""

import hashlib
from urllib.parse import quote

_LONGEST = 200  # of the 255 bytes that file systems allow, leaving room for endings


def file_name(text: str) -> str:
    """The file name for a text: the text itself if it has only letters, digits and `_.-~`, else quoted as in a URL."""
    name = quote(text, safe="", errors="surrogatepass")
    if not name.strip("."):  # "." and "..", which name other folders, and the empty text
        return "%2E" * len(name) or "%"
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{name[: _LONGEST - len(digest) - 1]}={digest}"  # a character that no quoted text has
