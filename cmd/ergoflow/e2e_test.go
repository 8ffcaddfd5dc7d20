package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var e2e = flag.Bool("e2e", false, "run the tests of whole clusters that take half a minute or more each")

// needE2E skips a slow test, of half a minute or more, unless the flag -e2e is set. make e2e
// sets it; the Makefile lists these tests.
func needE2E(t *testing.T) {
	t.Helper()
	if !*e2e {
		t.Skip("it takes half a minute or more: `make e2e` runs it")
	}
}

// TestE2EIsListed: make e2e runs every test that skips without it.
func TestE2EIsListed(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?m)^E2E := (.*)$`).FindSubmatch(makefile)
	if listed == nil {
		t.Fatal("the Makefile has no list E2E")
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var skip []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`func Test(\w+)\(t \*testing\.T\) \{\n\tneedE2E\(t\)`).FindAllSubmatch(source, -1) {
			skip = append(skip, string(found[1]))
		}
	}
	want := strings.Split(string(listed[1]), "|")
	slices.Sort(skip)
	slices.Sort(want)
	if !slices.Equal(skip, want) {
		t.Errorf("the Makefile lists %v, and these skip: %v", want, skip)
	}
}
