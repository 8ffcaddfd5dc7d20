package flight

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/ergoflow/ergoflow"
)

func BenchmarkAdd(b *testing.B) {
	r := New(Worker)
	b.ReportAllocs()
	for b.Loop() {
		r.Add(Record{Kind: Ordered, Generation: 7, Step: 812, Text: "go 7"})
	}
}

// A step has six records: five of what the rank does, and the step.
func BenchmarkStep(b *testing.B) {
	r := New(Worker)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for range 5 {
			r.Begin("rank", "computes on its device", 7, ergoflow.Step(i))
		}
		r.Step(7, ergoflow.Step(i), 0.5, Phases{Gradient: 1})
	}
}

// full is a recorder whose rings are full.
func full() *Recorder {
	r := New(Worker)
	r.Name("vm-7072-5e1f09c4")
	for i := range maxEvents {
		r.Add(Record{Kind: Ordered, Generation: ergoflow.Generation(i), Text: "generation 7 forms of vm-7072-5e1f09c4, vm-7071-0b37d2a8"})
	}
	for i := range maxSteps {
		r.Step(7, ergoflow.Step(i), 0.51234567, Phases{Data: 0.00012, Gradient: 0.0712, Copy: 0.0021, Ring: 0.0042, Update: 0.0011, Other: 0.0003})
	}
	return r
}

func BenchmarkDump(b *testing.B) {
	r := full()
	var size int
	for b.Loop() {
		encoded, err := r.Dump("bench").Encode()
		if err != nil {
			b.Fatal(err)
		}
		size = len(encoded)
	}
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkRead(b *testing.B) {
	encoded, err := full().Dump("bench").Encode()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(bytes.NewReader(encoded)); err != nil {
			b.Fatal(err)
		}
	}
}

// Two goroutines hand a number back and forth, in four transitions of goroutines.
func BenchmarkHandOver(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run(fmt.Sprintf("traced=%t", traced), func(b *testing.B) {
			if traced {
				tracer, err := NewTracer()
				if err != nil {
					b.Fatal(err)
				}
				defer tracer.Stop()
			}
			there, back := make(chan int), make(chan int)
			go func() {
				for n := range there {
					back <- n
				}
				close(back)
			}()
			for b.Loop() {
				there <- 1
				<-back
			}
			close(there)
			<-back
		})
	}
}
