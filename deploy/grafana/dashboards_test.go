package grafana

// What the dashboards show. `make dashboards` writes dashboards/*.json from this.

// A dashboard is one file; its name is the dashboard's uid.
type dashboard struct {
	name, title string
	about       string
	variables   []variable
	rows        []row
}

// A variable is a choice at the top: values of a label of a metric.
type variable struct{ name, metric, label string }

type row struct {
	title  string
	panels []panel
}

// A panel shows queries over time, or, as a number, what they are now.
type panel struct {
	title   string
	about   string
	unit    string // Grafana's name of it
	number  bool
	stacked bool
	queries []query
}

type query struct{ expr, legend string }

func over(title, unit, about, expr, legend string) panel {
	return panel{title: title, unit: unit, about: about, queries: []query{{expr, legend}}}
}

func stack(title, unit, about, expr, legend string) panel {
	p := over(title, unit, about, expr, legend)
	p.stacked = true
	return p
}

func now(title, unit, about, expr, legend string) panel {
	p := over(title, unit, about, expr, legend)
	p.number = true
	return p
}

// process is the row of what every process exports.
func process(job string) row {
	of := `{job="` + job + `", instance=~"$instance"}`
	return row{"Process", []panel{
		over("Processors", "short", "Processors in use.", `rate(process_cpu_seconds_total`+of+`[$__rate_interval])`, "{{instance}}"),
		over("Memory", "bytes", "Resident memory.", `process_resident_memory_bytes`+of, "{{instance}}"),
		over("Goroutines", "short", "", `go_goroutines`+of, "{{instance}}"),
	}}
}

var dashboards = []dashboard{{
	name: "ergoflow-cluster", title: "ergoflow: cluster", about: "Runs, workers and schedules, as the coordinator sees them.",
	variables: []variable{{"instance", "ergoflow_run_steps", "instance"}, {"run", "ergoflow_run_info", "run"}},
	rows: []row{
		{"Now", []panel{
			now("Progress", "percentunit", "Steps made, of all.", `ergoflow_run_step{instance=~"$instance", run=~"$run"} / ergoflow_run_steps{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			now("Useful time", "percentunit", "Share of the last five minutes that went to useful steps.", `sum by (run) (rate(ergoflow_run_time_seconds_total{instance=~"$instance", run=~"$run", cause="useful"}[5m])) / sum by (run) (rate(ergoflow_run_time_seconds_total{instance=~"$instance", run=~"$run"}[5m]))`, "run {{run}}"),
			now("Workers", "short", "Workers in the generation.", `ergoflow_run_members{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			now("Age of the checkpoint", "s", "Time since the newest checkpoint was stored.", `time() - ergoflow_run_checkpoint_timestamp_seconds{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			now("Runs that wait", "short", "In the queue.", `ergoflow_queue_runs_waiting{instance=~"$instance"}`, "{{instance}}"),
			now("Alerts", "short", "That fire now.", `count(ALERTS{alertname=~"Ergoflow.*", alertstate="firing"}) or vector(0)`, "firing"),
		}},
		{"Training", []panel{
			over("Loss", "short", "Of the last step.", `ergoflow_run_loss{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			over("Steps per second", "short", "", `clamp_min(deriv(ergoflow_run_step{instance=~"$instance", run=~"$run"}[$__rate_interval]), 0)`, "run {{run}}"),
			over("Samples per second", "short", "", `ergoflow_run_samples_per_second{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			stack("Where the time goes", "percentunit", "Share of the time by cause: useful, or what it was lost to.", `sum by (cause) (rate(ergoflow_run_time_seconds_total{instance=~"$instance", run=~"$run"}[$__rate_interval]))`, "{{cause}}"),
			stack("Generations that ended", "short", "In five minutes, by the kind of reason.", `sum by (reason) (increase(ergoflow_run_generations_ended_total{instance=~"$instance", run=~"$run"}[5m]))`, "{{reason}}"),
			over("Workers and cut links", "short", "Workers in the generation. A cut link carries nothing.", `ergoflow_run_members{instance=~"$instance", run=~"$run"}`, "run {{run}}: workers").and(`ergoflow_run_cut_links{instance=~"$instance", run=~"$run"}`, "run {{run}}: cut links"),
		}},
		{"Workers", []panel{
			over("Gradient", "s", "Time of the gradient in a step. One that stands out is a straggler.", `ergoflow_worker_phase_seconds{instance=~"$instance", run=~"$run", phase="gradient"}`, "{{worker}}"),
			over("Wait", "s", "Time in a step in which a worker waits for the last one. The others wait for the one that does not.", `ergoflow_worker_phase_seconds{instance=~"$instance", run=~"$run", phase="wait"}`, "{{worker}}"),
			over("Ring", "s", "Time of the sum over the workers, once the last has its gradient.", `ergoflow_worker_phase_seconds{instance=~"$instance", run=~"$run", phase="ring"}`, "{{worker}}"),
			over("Shards", "short", "Shards that a worker computes. They move from slow workers to faster ones.", `ergoflow_worker_shards{instance=~"$instance", run=~"$run"}`, "{{worker}}"),
			over("Stragglers", "short", "1: persistently slower than the others.", `ergoflow_worker_slow{instance=~"$instance", run=~"$run"}`, "{{worker}}"),
			over("Rank", "short", "−1: in no generation.", `ergoflow_worker_rank{instance=~"$instance", run=~"$run"}`, "{{worker}}"),
		}},
		{"Data and checkpoints", []panel{
			over("Shards that exist", "percentunit", "", `ergoflow_run_shards_present{instance=~"$instance", run=~"$run"} / ergoflow_run_shards{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			over("Jobs in the queue", "short", "While shards are generated: that wait, that a worker has, and those of both that come again.", `sum by (state) (ergoflow_run_jobs{instance=~"$instance", run=~"$run"})`, "{{state}}"),
			over("Failed jobs", "short", "In five minutes. Dead ones are not tried again.", `increase(ergoflow_job_failures_total{instance=~"$instance"}[5m])`, "{{outcome}}"),
			over("Writing a checkpoint", "s", "Mean time.", `rate(ergoflow_checkpoint_write_seconds_total{instance=~"$instance"}[$__rate_interval]) / on (instance) sum by (instance) (rate(ergoflow_checkpoint_writes_total{instance=~"$instance"}[$__rate_interval]))`, "{{instance}}"),
			over("Since a checkpoint was copied", "s", "Into the bucket of the shards.", `time() - ergoflow_checkpoint_copy_timestamp_seconds{instance=~"$instance"}`, "{{instance}}"),
			over("Size of the checkpoint", "bytes", "", `ergoflow_run_checkpoint_bytes{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
			over("Room that lacks", "bytes", "What a checkpoint lacks on the disk.", `ergoflow_run_room_missing_bytes{instance=~"$instance", run=~"$run"}`, "run {{run}}"),
		}},
		{"Coordinators", []panel{
			over("Which leads", "short", "1: it leads.", `ergoflow_coordinator_leads`, "{{instance}}").and(`ergoflow_coordinator_silent_others`, "silent for {{instance}}"),
			over("Term", "short", "It grows with each election.", `ergoflow_coordinator_term`, "{{instance}}"),
			over("Entries of the ledger", "short", "Those that fall behind have a slow disk or network.", `ergoflow_coordinator_entries`, "{{instance}}"),
		}},
		{"Schedules, models and security", []panel{
			over("Since the last success", "s", "Of each schedule of retraining.", `time() - ergoflow_schedule_done_timestamp_seconds{instance=~"$instance"}`, "{{schedule}}"),
			over("Failures in a row", "short", "", `ergoflow_schedule_failures{instance=~"$instance"}`, "{{schedule}}"),
			over("Models", "short", "Of the registry: a model's champion, and how many versions it has.", `ergoflow_registry_champion_version{instance=~"$instance"}`, "{{model}}: champion").and(`ergoflow_registry_versions{instance=~"$instance"}`, "{{model}}: versions"),
			over("Refusals per second", "short", "Connections, messages and requests that the coordinator refused.", `rate(ergoflow_refusals_total{instance=~"$instance"}[$__rate_interval])`, "{{instance}}"),
			now("Certificate", "s", "Time until the coordinator's certificate ends. It renews itself after two thirds of its life.", `ergoflow_certificate_expiry_timestamp_seconds{instance=~"$instance"} - time()`, "{{instance}}"),
		}},
		process("ergoflow-coordinator"),
	},
}, {
	name: "ergoflow-worker", title: "ergoflow: workers", about: "What each worker says of itself.",
	variables: []variable{{"instance", "ergoflow_self_info", "instance"}},
	rows: []row{
		{"Steps", []panel{
			over("Steps per second", "short", "", `rate(ergoflow_self_steps_total{instance=~"$instance"}[$__rate_interval])`, "{{instance}}"),
			stack("Time of a step by phase", "s", "Mean over the chosen workers. The phase ring has the wait for slower ranks.", `sum by (phase) (rate(ergoflow_self_step_seconds_total{instance=~"$instance"}[$__rate_interval])) / scalar(sum(rate(ergoflow_self_steps_total{instance=~"$instance"}[$__rate_interval])))`, "{{phase}}"),
			over("Gradient of a step", "s", "Mean by worker.", `rate(ergoflow_self_step_seconds_total{instance=~"$instance", phase="gradient"}[$__rate_interval]) / on (instance) rate(ergoflow_self_steps_total{instance=~"$instance"}[$__rate_interval])`, "{{instance}}"),
			over("Step", "short", "Of the training state.", `ergoflow_self_step{instance=~"$instance"}`, "{{instance}}"),
			over("Rank", "short", "−1: in no generation.", `ergoflow_self_rank{instance=~"$instance"}`, "{{instance}}"),
			over("Session", "short", "1: with a coordinator.", `ergoflow_self_session{instance=~"$instance"}`, "{{instance}}"),
		}},
		{"Links", []panel{
			over("Sent", "Bps", "Numbers of sums, by worker that they are sent to.", `rate(ergoflow_self_link_bytes_total{instance=~"$instance", direction="sent"}[$__rate_interval])`, "{{instance}} to {{peer}}"),
			over("Received", "Bps", "", `rate(ergoflow_self_link_bytes_total{instance=~"$instance", direction="received"}[$__rate_interval])`, "{{instance}} from {{peer}}"),
			over("Broken generations", "short", "In five minutes. Their step is computed again.", `increase(ergoflow_self_broken_generations_total{instance=~"$instance"}[5m])`, "{{instance}}"),
			over("Refusals per second", "short", "", `rate(ergoflow_self_refusals_total{instance=~"$instance"}[$__rate_interval])`, "{{instance}}"),
		}},
		{"Data and states", []panel{
			over("Jobs", "short", "Attempts to make a shard, in five minutes.", `sum by (outcome) (increase(ergoflow_self_jobs_total{instance=~"$instance"}[5m]))`, "{{outcome}}"),
			over("States fetched", "short", "In five minutes.", `sum by (source) (increase(ergoflow_self_fetched_states_total{instance=~"$instance"}[5m]))`, "from a {{source}}"),
			over("Checkpoints uploaded", "short", "In five minutes.", `sum by (outcome) (increase(ergoflow_self_checkpoint_uploads_total{instance=~"$instance"}[5m]))`, "{{outcome}}"),
			over("Upload of a checkpoint", "s", "Mean time.", `sum(rate(ergoflow_self_checkpoint_upload_seconds_total{instance=~"$instance"}[$__rate_interval])) / sum(rate(ergoflow_self_checkpoint_uploads_total{instance=~"$instance", outcome!="skipped"}[$__rate_interval]))`, "mean"),
		}},
		process("ergoflow-worker"),
	},
}, {
	name: "ergoflow-server", title: "ergoflow: server", about: "Requests, certificates and models of `ergoflow serve`.",
	variables: []variable{{"instance", "ergoflow_models", "instance"}, {"model", "ergoflow_model_info", "model"}},
	rows: []row{
		{"Requests", []panel{
			stack("Requests per second", "reqps", "", `sum by (route) (rate(ergoflow_requests_total{instance=~"$instance"}[$__rate_interval]))`, "{{route}}"),
			over("Errors", "percentunit", "Share of requests with a status from 400 on, by status.", `sum by (code) (rate(ergoflow_requests_total{instance=~"$instance", code=~"[45].."}[$__rate_interval])) / scalar(sum(rate(ergoflow_requests_total{instance=~"$instance"}[$__rate_interval])))`, "{{code}}"),
			over("Time of an answer", "s", "95 of 100 requests were answered within it.", `histogram_quantile(0.95, sum by (le, route) (rate(ergoflow_request_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))`, "{{route}}"),
			over("Time of samples", "s", "Half, 95 and 99 of 100 requests for samples.", `histogram_quantile(0.5, sum by (le) (rate(ergoflow_request_duration_seconds_bucket{instance=~"$instance", route=~"POST /v1/samples?"}[$__rate_interval])))`, "50 %").
				and(`histogram_quantile(0.95, sum by (le) (rate(ergoflow_request_duration_seconds_bucket{instance=~"$instance", route=~"POST /v1/samples?"}[$__rate_interval])))`, "95 %").
				and(`histogram_quantile(0.99, sum by (le) (rate(ergoflow_request_duration_seconds_bucket{instance=~"$instance", route=~"POST /v1/samples?"}[$__rate_interval])))`, "99 %"),
			over("Requests that wait", "short", "For room.", `ergoflow_requests_waiting{instance=~"$instance"}`, "{{instance}}"),
		}},
		{"Samples", []panel{
			over("Samples per second", "short", "", `sum by (model) (rate(ergoflow_samples_total{instance=~"$instance", model=~"$model"}[$__rate_interval]))`, "{{model}}"),
			over("Equations per second", "short", "", `sum by (model) (rate(ergoflow_sampled_equations_total{instance=~"$instance", model=~"$model"}[$__rate_interval]))`, "{{model}}"),
			stack("Verdicts", "percentunit", "Share of certificates by verdict.", `sum by (verdict) (rate(ergoflow_verdicts_total{instance=~"$instance", model=~"$model"}[$__rate_interval])) / scalar(sum(rate(ergoflow_verdicts_total{instance=~"$instance", model=~"$model"}[$__rate_interval])))`, "{{verdict}}"),
			stack("Where the time goes", "s", "Seconds in a second by part, of all requests for samples.", `sum by (part) (rate(ergoflow_sampling_seconds_total{instance=~"$instance", model=~"$model"}[$__rate_interval]))`, "{{part}}"),
		}},
		{"Models", []panel{
			now("Versions in use", "short", "", `ergoflow_model_info{instance=~"$instance", model=~"$model"}`, "{{model}}@{{version}}"),
			over("Models loaded", "short", "In an hour. One that fails leaves the old one in use.", `sum by (outcome) (increase(ergoflow_model_loads_total{instance=~"$instance"}[1h]))`, "{{outcome}}"),
		}},
		process("ergoflow-server"),
	},
}}

// and adds a query to a panel.
func (p panel) and(expr, legend string) panel {
	p.queries = append(p.queries, query{expr, legend})
	return p
}
