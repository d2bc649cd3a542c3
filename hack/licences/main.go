// Command licences lists the modules that are linked into the programs, with the licences of the used packages. It fails
// on a licence that is not allowed:
//
//	licences [-check] FILE
//
// With -check nothing is written, and a FILE that differs is an error.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// programs lists the published programs.
var programs = []string{"./cmd/manager", "./cmd/mover", "./cmd/migrate"}

// allowed lists the licences that may be linked into programs under Apache 2.0. CC0 waives all rights and has no
// conditions.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT"}

func main() {
	check := flag.Bool("check", false, "compare, do not write")
	flag.Parse()
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(file string, check bool) error {
	if file == "" {
		return errors.New("name the file to write")
	}
	modules, err := linked()
	if err != nil {
		return err
	}
	if err := judge(modules); err != nil {
		return err
	}
	text := render(modules)
	if !check {
		return os.WriteFile(file, text, 0o644) //nolint:gosec // it is a document
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is out of date: make licences", file)
	}
	return nil
}

// module is a linked module.
type module struct {
	path, version string
	licences      []string
	// unknown lists files that look like licences but are not recognised.
	unknown []string
}

// linked returns the modules of all packages of the programs, in ascending order.
func linked() ([]*module, error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}} {{$.Dir}}{{end}}{{end}}`
	everywhere := program.In{Env: []string{"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0"}} // the same result on every machine
	out, err := everywhere.Output(context.Background(), "go", append([]string{"list", "-deps", "-f", format}, programs...)...)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*module{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		const path, version, root, dir, all = 0, 1, 2, 3, 4
		if len(words) != all {
			continue
		}
		m := byPath[words[path]]
		if m == nil {
			m = &module{path: words[path], version: words[version]}
			byPath[m.path] = m
		}
		if err := m.read(words[root], words[dir]); err != nil {
			return nil, err
		}
	}
	modules := make([]*module, 0, len(byPath))
	for _, m := range byPath {
		slices.Sort(m.licences)
		m.licences = slices.Compact(m.licences)
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *module) int { return strings.Compare(a.path, b.path) })
	return modules, nil
}

// read finds the licence nearest to a package, from its folder up to the module's root.
func (m *module) read(root, dir string) error {
	for {
		files, err := licenceFiles(dir)
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			found := classify(string(text))
			if len(found) == 0 {
				m.unknown = append(m.unknown, filepath.Base(file))
			}
			m.licences = append(m.licences, found...)
		}
		if len(files) > 0 || dir == root || len(dir) < len(root) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

func licenceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		is := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING")
		if is && !entry.IsDir() && !strings.HasSuffix(name, ".GO") {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	return files, nil
}

// judge returns an error with every module that may not be linked.
func judge(modules []*module) error {
	var problems []error
	for _, m := range modules {
		if len(m.licences) == 0 {
			problems = append(problems, fmt.Errorf("%s %s: no known licence, %q: look at it, and teach hack/licences", m.path, m.version, m.unknown))
		}
		for _, licence := range m.licences {
			if !slices.Contains(allowed, licence) {
				problems = append(problems, fmt.Errorf("%s %s: %s is not among %s", m.path, m.version, licence, strings.Join(allowed, ", ")))
			}
		}
	}
	return errors.Join(problems...)
}

func render(modules []*module) []byte {
	var b bytes.Buffer
	b.WriteString("# Licences of the linked modules\n\n")
	b.WriteString("The manager and the command are under the [Apache License 2.0](../LICENSE), Go and its standard library under BSD-3-Clause.\n")
	b.WriteString("Written by `make licences`; `make verify` fails when it is out of date, or on a licence other than\n")
	fmt.Fprintf(&b, "%s.\n\n| module | version | licence |\n|---|---|---|\n", strings.Join(allowed, ", "))
	for _, m := range modules {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.path, m.version, strings.Join(m.licences, ", "))
	}
	return b.Bytes()
}

// signs lists sentences that identify a licence. A text must contain all of its sentences, and none of those that it
// must not contain.
var signs = []struct {
	licence string
	has     []string
	lacks   []string
}{
	{licence: "Apache-2.0", has: []string{"apache license version 2.0"}},
	{licence: "MIT", has: []string{"permission is hereby granted, free of charge, to any person obtaining a copy of this software"}},
	{licence: "BSD-3-Clause", has: []string{"redistributions of source code must retain the above copyright", "endorse or promote products derived from"}},
	{
		licence: "BSD-2-Clause", has: []string{"redistributions of source code must retain the above copyright"},
		lacks: []string{"endorse or promote products derived from"},
	},
	{licence: "ISC", has: []string{"permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted"}},
	{licence: "ISC", has: []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"}},
	{licence: "MPL-2.0", has: []string{"mozilla public license version 2.0"}},
	{licence: "AGPL", has: []string{"gnu affero general public license version"}},
	{licence: "LGPL", has: []string{"gnu lesser general public license version"}},
	{licence: "GPL", has: []string{"gnu general public license version"}},
	{licence: "EPL", has: []string{"eclipse public license"}},
	{licence: "CC0-1.0", has: []string{"cc0 1.0 universal"}},
	{licence: "Unlicense", has: []string{"this is free and unencumbered software released into the public domain"}},
	{licence: "BUSL", has: []string{"business source license"}},
	{licence: "SSPL", has: []string{"server side public license"}},
}

// classify returns the licences in a text. A file may hold several, one for each part of the module. The result is empty
// if no known licence is found.
func classify(text string) []string {
	plain := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	plain = strings.ReplaceAll(plain, "license, version", "license version")
	var found []string
	for _, sign := range signs {
		if hasAll(plain, sign.has) && !hasAny(plain, sign.lacks) {
			found = append(found, sign.licence)
		}
	}
	return found
}

func hasAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func hasAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
