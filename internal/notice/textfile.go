package notice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/proto"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// maxTextfile bounds the file that a textfile replaces.
const maxTextfile = 1 << 20 // bytes

// prefix of all metrics, which have one label, the retraining's name.
const prefix = "ergoflow_retrain_"

// writeTextfile replaces the file for node_exporter's textfile collector. Numbers that the event
// does not change are those of the old file, such as the time of the last success.
func writeTextfile(path string, e Event, d *Delivery) error {
	d.Attempts = 1
	families, err := readTextfile(path)
	if err != nil {
		d.Note = fmt.Sprintf("the old file was not readable and is replaced: %v", err)
		families = make(map[string]*dto.MetricFamily)
	}
	set := func(name, help string, value float64) {
		setGauge(families, prefix+name, help, e.Name, value)
	}
	set("last_start_timestamp_seconds", "Time at which the last retraining began.", float64(e.Began.Unix()))
	if !e.begins() {
		set("last_finish_timestamp_seconds", "Time at which the last retraining ended.", float64(e.Ended.Unix()))
		set("last_duration_seconds", "Duration of the last retraining.", e.seconds())
		set("last_exit_code", "Exit code of the last retraining.", float64(e.ExitCode))
		if e.Decision != Failed {
			set("last_success_timestamp_seconds", "Time at which a retraining last ended without failure.", float64(e.Ended.Unix()))
		}
		if e.Champion > 0 {
			set("champion_version", "Version of the champion in the registry.", float64(e.Champion))
		}
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if _, err := expfmt.MetricFamilyToText(&text, families[name]); err != nil {
			return err
		}
	}
	return atomicfile.Write(path, text.Bytes())
}

// readTextfile reads what an earlier event has written; nothing if the file is missing.
func readTextfile(path string) (map[string]*dto.MetricFamily, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return make(map[string]*dto.MetricFamily), nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxTextfile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxTextfile {
		return nil, fmt.Errorf("it has more than %d bytes", maxTextfile)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(bytes.NewReader(content))
}

// setGauge sets the value of one retraining, and leaves those of others.
func setGauge(families map[string]*dto.MetricFamily, name, help, retraining string, value float64) {
	family := families[name]
	if family == nil || family.GetType() != dto.MetricType_GAUGE {
		family = &dto.MetricFamily{Name: &name, Type: dto.MetricType_GAUGE.Enum()}
		families[name] = family
	}
	family.Help = &help
	family.Metric = slices.DeleteFunc(family.Metric, func(m *dto.Metric) bool {
		return len(m.Label) == 1 && m.Label[0].GetValue() == retraining
	})
	family.Metric = append(family.Metric, &dto.Metric{
		Label: []*dto.LabelPair{{Name: proto.String("name"), Value: &retraining}},
		Gauge: &dto.Gauge{Value: &value},
	})
}
