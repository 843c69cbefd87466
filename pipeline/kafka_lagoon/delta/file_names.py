"""Makes names of files and folders of text that a broker or a user has chosen, such as a cluster id.

A name is one component of a path below the folder that it is meant for, whatever the text is; two texts never have one name.
"""

import hashlib
from urllib.parse import quote

_LONGEST = 200  # of the 255 bytes that file systems take, some for endings


def file_name(text: str) -> str:
    """The name for a text: the text itself if it has only letters, digits and some of `_.-~`, else quoted as in a URL."""
    name = quote(text, safe="", errors="surrogatepass")
    if not name.strip("."):  # "." and "..", which mean other folders, and nothing at all
        return "%2E" * len(name) or "%"
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{name[: _LONGEST - len(digest) - 1]}={digest}"  # a sign that no quoted text has
