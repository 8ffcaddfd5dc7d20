// Command delay is cables with latency, for kernels without tc's netem: between a TAP device
// "cable" in each of the given network namespaces and a TAP device "port0", "port1" … in the
// namespace of a switch. Every frame takes the given time. It needs root and ends with its
// standard input.
//
//	delay 5ms SWITCH NAMESPACE [NAMESPACE]
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ergoflow/ergoflow/internal/tap"
)

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("usage: delay DURATION SWITCH NAMESPACE [NAMESPACE]"))
	}
	delay, err := time.ParseDuration(os.Args[1])
	fail(err)
	for i, namespace := range os.Args[3:] {
		a, err := tap.Open("cable", namespace)
		fail(err)
		b, err := tap.Open(fmt.Sprintf("port%d", i), os.Args[2])
		fail(err)
		carry(a, b, delay)
		carry(b, a, delay)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "delay:", err)
		os.Exit(1)
	}
}

// queued is how many frames a direction of a cable holds. More are lost.
const queued = 4096

type frame struct {
	due  time.Time
	data []byte
}

// carry carries frames from one device to the other until the process ends.
func carry(from, to *os.File, delay time.Duration) {
	frames := make(chan frame, queued)
	go func() {
		for {
			data := make([]byte, 1<<14)
			n, err := from.Read(data)
			if err != nil {
				time.Sleep(time.Millisecond) // the device is down
				continue
			}
			select {
			case frames <- frame{time.Now().Add(delay), data[:n]}:
			default:
			}
		}
	}()
	go func() {
		for f := range frames {
			time.Sleep(time.Until(f.due))
			_, _ = to.Write(f.data) // a device that is down loses it
		}
	}()
}
