#!/bin/sh
# Finds a Chromium for the browser tests, or installs one: Debian's package where that is possible, else Playwright's own.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "installing Debian's chromium for the browser tests"
  if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu-core >/dev/null; then exit 0; fi
fi
echo "downloading Playwright's Chromium for the browser tests"
exec "$1/playwright" install chromium
