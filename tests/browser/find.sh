#!/bin/sh
# Finds a Chromium for the browser tests, or installs one: Debian's headless shell where that is possible, which takes half
# the processor time of the whole browser; else Debian's browser; else Playwright's headless shell.
set -eu
has() { command -v "$1" >/dev/null 2>&1; }
whole() { has chromium || has chromium-browser || has google-chrome; }
debian() {
  echo "installing Debian's $1 for the browser tests"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$1" fonts-dejavu-core >/dev/null
}

if has chromium-headless-shell; then exit 0; fi
if has apt-get && [ "$(id -u)" = 0 ]; then
  whole || apt-get update -qq || true
  if debian chromium-headless-shell || { ! whole && debian chromium; }; then exit 0; fi
fi
if whole; then exit 0; fi
echo "downloading Playwright's Chromium for the browser tests"
exec "$1/playwright" install --only-shell chromium
