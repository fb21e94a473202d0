// SPDX-License-Identifier: Apache-2.0
#pragma once

#include_next <fcntl.h>

#define O_CLOEXEC _O_NOINHERIT
// There are no such files: a name cannot stand for a terminal, and opening never waits.
#define O_NONBLOCK 0
#define O_NOCTTY 0
#define O_NOFOLLOW 0
