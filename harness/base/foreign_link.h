/* foreign_link.h: refuses to write through a symbolic link that another user has put where a file is to be.
 *
 * Whoever names an output file may name a link of their own: what it leads to is written, as everywhere. A link that somebody else
 * made, in a folder where they may, would have them choose which of the user's files that is. Links of root are the system's
 * (/dev/stdout) and followed, too. Looked at is the last part of the path: links in the folders above belong to who made those. */
#ifndef LAGGARD_BASE_FOREIGN_LINK_H
#define LAGGARD_BASE_FOREIGN_LINK_H

struct err;

/* 0: there is no such link, or nothing at all; -ERR_HOST: there is. */
int foreign_link_refuse(const char *path, struct err *err);

#endif
