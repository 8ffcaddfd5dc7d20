package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A scrape has what the snapshot has at that moment: a series that is not written any more is gone.
func TestCollector(t *testing.T) {
	rooms := map[string]float64{"cellar": 7.5, "attic": 30}
	var aired time.Time
	c := New(Table{
		{"room_celsius", []string{"room"}, "Temperature."},
		{"visits_total", nil, "Visits."},
		{"aired_timestamp_seconds", nil, "When it was aired."},
		{"door_open", []string{"door"}, "Whether a door is open."},
	}, func(to Writer) {
		for room, value := range rooms {
			to.Gauge("room_celsius", value, room)
		}
		to.Total("visits_total", 3)
		to.Time("aired_timestamp_seconds", aired)
		to.Bool("door_open", true, "front")
		to.Bool("door_open", false, "back")
	})
	const others = `
# HELP visits_total Visits.
# TYPE visits_total counter
visits_total 3
# HELP door_open Whether a door is open.
# TYPE door_open gauge
door_open{door="back"} 0
door_open{door="front"} 1
# HELP room_celsius Temperature.
# TYPE room_celsius gauge
room_celsius{room="attic"} 30
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(others+`room_celsius{room="cellar"} 7.5`+"\n")); err != nil {
		t.Error(err)
	}
	delete(rooms, "cellar")
	aired = time.UnixMilli(1_700_000_000_500)
	if err := testutil.CollectAndCompare(c, strings.NewReader(others+`
# HELP aired_timestamp_seconds When it was aired.
# TYPE aired_timestamp_seconds gauge
aired_timestamp_seconds 1.7000000005e+09
`)); err != nil {
		t.Error(err)
	}
}

// A name that the table lacks is a mistake in the program.
func TestUnknownName(t *testing.T) {
	c := New(nil, func(to Writer) { to.Gauge("nothing", 1) })
	defer func() {
		if recover() == nil {
			t.Error("a metric that is not in the table is written")
		}
	}()
	c.Collect(make(chan prometheus.Metric, 1))
}
