// Package page is the web page of the server: one HTML file, its style and its JavaScript
// modules, embedded as they are.
package page

import (
	"embed"

	"github.com/ergoflow/ergoflow/internal/webpage"
)

//go:embed static
var static embed.FS

// Files are those of the page.
func Files() webpage.Files { return webpage.Load(static) }
