#!/bin/sh
# After the files are in place: the user, and a restart of a server that runs.
set -e
if ! getent passwd tallystick >/dev/null; then
    useradd --system --user-group --home-dir /var/lib/tallystick --shell /usr/sbin/nologin tallystick
fi
if [ ! -d /var/lib/tallystick ]; then
    install -d -m 0700 -o tallystick -g tallystick /var/lib/tallystick
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart tallystick.service || true
fi
if [ -z "$2" ]; then
    echo 'tallystick: look at /etc/tallystick/tallystick.conf, then: systemctl enable --now tallystick'
fi
