package notice

import (
	"fmt"
	"os"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Check returns why notices would fail on this machine, without sending one.
func (c Config) Check() (problems []string) {
	for i, w := range c.Webhooks {
		if _, err := w.secret(); err != nil {
			problems = append(problems, fmt.Sprintf("webhooks[%d].%v", i, err))
		} else if info, err := os.Stat(w.SecretFile); err == nil && info.Mode().Perm()&0o007 != 0 {
			problems = append(problems, fmt.Sprintf("webhooks[%d].secret_file: others can read %s: its mode is %v", i, w.SecretFile, info.Mode().Perm()))
		}
	}
	if c.Textfile != "" {
		if err := atomicfile.Writable(c.Textfile); err != nil {
			problems = append(problems, fmt.Sprintf("textfile: %v", err))
		}
	}
	return problems
}
