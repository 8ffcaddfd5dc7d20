// Package notice tells people and machines about a retraining: webhooks, a health-check ping,
// a file for Prometheus, an event on NATS. A notice never fails what it tells of: Send returns
// what became of each as a Delivery, and takes no longer than a bound.
//
//	event           webhook          ping        textfile   NATS
//	it begins                        URL/start   start      ergoflow.retrain.NAME.started
//	it ends well    if in "on"       URL         all        ergoflow.retrain.NAME.DECISION
//	it fails        if in "on"       URL/fail    all        ergoflow.retrain.NAME.failed
//	it is skipped   if in "on"                              ergoflow.retrain.NAME.skipped
//
// A ping is missing where nothing ran: the service behind it then raises the alarm. That is
// what it is for.
//
// Deliveries and errors name the host of a URL only. Its user, path and query may be secrets.
package notice
