// Package home gives processes without HOME, such as services, the home directory that
// the user database has. Go's XLA binding looks for HOME while it is initialised and writes
// a line of its own to standard error where that is missing. Go initialises packages in the
// order of their paths once their imports are: this one comes before that binding because
// it imports nothing but the standard library.
package home

import (
	"os"
	"os/user"
)

func init() {
	if os.Getenv("HOME") != "" {
		return
	}
	dir := "/" // as login does for users without a directory
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		dir = u.HomeDir
	}
	_ = os.Setenv("HOME", dir) // fails for an invalid name alone
}
