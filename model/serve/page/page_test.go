package page

import (
	"testing"

	"github.com/ergoflow/ergoflow/internal/webpage/webpagetest"
)

func TestFiles(t *testing.T) { webpagetest.CheckFiles(t, Files(), "/openapi.json") }
