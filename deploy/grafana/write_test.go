package grafana

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the dashboards instead of comparing with them")

// The files are what their description gives.
func TestDashboards(t *testing.T) {
	for _, d := range dashboards {
		var b bytes.Buffer
		encode := json.NewEncoder(&b)
		encode.SetEscapeHTML(false)
		encode.SetIndent("", "  ")
		if err := encode.Encode(d.document()); err != nil {
			t.Fatal(err)
		}
		path := "dashboards/" + d.name + ".json"
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, b.Bytes()) {
			t.Errorf("%s is not what dashboards_test.go describes, %v; `make dashboards` writes it", path, err)
		}
	}
}

type object = map[string]any

// source is the data source that one chooses at the top: a dashboard that is provisioned has no
// other way to name one.
var source = object{"type": "prometheus", "uid": "${datasource}"}

// Widths of panels, in columns of 24.
const (
	numberWidth, numberHeight = 4, 4
	graphWidth, graphHeight   = 8, 8
)

// document is the dashboard as Grafana 10 and later read it.
func (d dashboard) document() object {
	variables := []object{{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}}
	for _, v := range d.variables {
		values := "label_values(" + v.metric + ", " + v.label + ")"
		variables = append(variables, object{
			"name": v.name, "type": "query", "datasource": source, "definition": values, "query": object{"query": values, "refId": v.name},
			"refresh": 2, "sort": 3, "multi": true, "includeAll": true, "current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		})
	}
	var panels []object
	add := func(p object) {
		p["id"] = len(panels) + 1
		panels = append(panels, p)
	}
	y := 0
	for _, r := range d.rows {
		add(object{"type": "row", "title": r.title, "collapsed": false, "panels": []object{}, "gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		x, high := 0, 0
		y++
		for _, p := range r.panels {
			w, h := graphWidth, graphHeight
			if p.number {
				w, h = numberWidth, numberHeight
			}
			if x+w > 24 {
				x, y, high = 0, y+high, 0
			}
			panel := p.object()
			panel["gridPos"] = object{"x": x, "y": y, "w": w, "h": h}
			add(panel)
			x, high = x+w, max(high, h)
		}
		y += high
	}
	return object{
		"uid": d.name, "title": d.title, "description": d.about, "tags": []string{"ergoflow"}, "schemaVersion": 39, "editable": true,
		"timezone": "browser", "refresh": "15s", "time": object{"from": "now-1h", "to": "now"}, "graphTooltip": 1,
		"templating": object{"list": variables}, "panels": panels,
	}
}

func (p panel) object() object {
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": q.expr, "legendFormat": q.legend, "instant": p.number, "range": !p.number})
	}
	o := object{"title": p.title, "description": p.about, "datasource": source, "targets": targets}
	defaults := object{"unit": p.unit}
	if p.number {
		o["type"] = "stat"
		o["options"] = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "textMode": "value_and_name", "colorMode": "none", "graphMode": "none"}
	} else {
		o["type"] = "timeseries"
		o["options"] = object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi", "sort": "desc"}}
		custom := object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "never"}
		if p.stacked {
			custom["stacking"] = object{"mode": "normal", "group": "A"}
			custom["fillOpacity"] = 60
		}
		defaults["custom"] = custom
	}
	o["fieldConfig"] = object{"defaults": defaults, "overrides": []object{}}
	return o
}
