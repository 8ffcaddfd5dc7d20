// Package systemd tells the service manager that started the process how it is: ready, at an
// end, alive. Without one, and where the unit does not ask for it, nothing happens. See
// sd_notify(3).
package systemd

import (
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the process does its work, and what that is, for `systemctl status`.
func Ready(status string) { notify(daemon.SdNotifyReady + "\nSTATUS=" + status) }

// Stopping says that the process ends in order.
func Stopping() { notify(daemon.SdNotifyStopping) }

// notify is heard or not: a process works the same without its service manager.
func notify(state string) { _, _ = daemon.SdNotify(false, state) }

// A Watchdog tells the service manager that the process is alive. If it hears nothing for the
// unit's WatchdogSec=, it kills the process and starts it again.
type Watchdog struct {
	every time.Duration // 0: nobody asks

	mu   sync.Mutex
	last time.Time
}

// NewWatchdog reads what the unit asks for.
func NewWatchdog() *Watchdog {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		limit = 0 // the variables are not systemd's
	}
	return &Watchdog{every: limit / 4}
}

// Beat is called again and again by what must not stand still, more often than four times in
// the unit's limit.
func (w *Watchdog) Beat() {
	if w.every == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.last) >= w.every {
		w.last = now
		notify(daemon.SdNotifyWatchdog)
	}
}
