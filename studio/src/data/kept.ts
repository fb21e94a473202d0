// SPDX-License-Identifier: Apache-2.0
// What the browser keeps for the next visit. Some pages may keep nothing, such as a report inside a notebook.

export function kept<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function keep(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Then it holds until the page is closed.
  }
}
