// SPDX-License-Identifier: Apache-2.0
#pragma once

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

/// Locks are of the open file, as on Linux, and end with it. EWOULDBLOCK: it is locked.
int flock(int fd, int operation);
