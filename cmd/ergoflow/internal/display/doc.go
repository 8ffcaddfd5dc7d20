// Package display shows the status of a cluster as text: once, or on a screen that follows it.
// What is shown is a pure function of the status, the size of the screen and the order of the
// workers; Watch alone knows of terminals and of time.
package display
