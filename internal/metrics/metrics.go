// Package metrics makes the metrics of a process from a snapshot at each scrape, so that the series
// of what is gone vanish.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Table describes metrics.
type Table []struct {
	Name   string
	Labels []string
	Help   string
}

// Collector is a prometheus.Collector. It may be used concurrently where its function may.
type Collector struct {
	descs   map[string]*prometheus.Desc // by name
	collect func(to Writer)
}

// New makes a collector of the metrics of a table. At each scrape it calls collect, which takes a
// snapshot and writes every series of it.
func New(table Table, collect func(to Writer)) *Collector {
	c := &Collector{descs: make(map[string]*prometheus.Desc, len(table)), collect: collect}
	for _, m := range table {
		c.descs[m.Name] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) { c.collect(Writer{c.descs, to}) }

// Writer takes the series of one scrape. Its methods panic for a name that is not in the table, and
// for another number of labels than the table's.
type Writer struct {
	descs map[string]*prometheus.Desc
	to    chan<- prometheus.Metric
}

func (w Writer) send(kind prometheus.ValueType, name string, value float64, labels []string) {
	w.to <- prometheus.MustNewConstMetric(w.descs[name], kind, value, labels...)
}

// Gauge writes a value that goes up and down.
func (w Writer) Gauge(name string, value float64, labels ...string) {
	w.send(prometheus.GaugeValue, name, value, labels)
}

// Total writes a value that only grows.
func (w Writer) Total(name string, value float64, labels ...string) {
	w.send(prometheus.CounterValue, name, value, labels)
}

// Time writes a time in Unix seconds, to the millisecond; nothing for the zero time.
func (w Writer) Time(name string, t time.Time, labels ...string) {
	if !t.IsZero() {
		w.Gauge(name, float64(t.UnixMilli())/1000, labels...)
	}
}

// Bool writes 1 for true, and 0 for false.
func (w Writer) Bool(name string, b bool, labels ...string) {
	value := 0.0
	if b {
		value = 1
	}
	w.Gauge(name, value, labels...)
}
