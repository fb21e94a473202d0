// SPDX-License-Identifier: Apache-2.0
// A static program: no preload library and no layer can be in it. Stays for a moment.
#include <unistd.h>

int main() {
  usleep(50'000);
  return 6;
}
