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

// TestE2EIsListed: a target of the Makefile runs every test that skips without -e2e.
func TestE2EIsListed(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, list := range regexp.MustCompile(`(?m)^E2E\w* := (.*)$`).FindAllSubmatch(makefile, -1) {
		listed = append(listed, strings.Split(string(list[1]), "|")...)
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
	slices.Sort(skip)
	slices.Sort(listed)
	if listed = slices.Compact(listed); !slices.Equal(skip, listed) {
		t.Errorf("the Makefile lists %v, and these skip: %v", listed, skip)
	}
}
