package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	const bsd = "Redistributions of source code must retain the above copyright\nnotice."
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"Apache":           {"   Apache License\n   Version 2.0, January 2004", []string{"Apache-2.0"}},
		"Apache, short":    {"Licensed under the Apache License, Version 2.0", []string{"Apache-2.0"}},
		"BSD with 2":       {bsd, []string{"BSD-2-Clause"}},
		"BSD with 3":       {bsd + " may be used to endorse or promote products\nderived from", []string{"BSD-3-Clause"}},
		"two in one":       {"Apache License Version 2.0 " + bsd, []string{"Apache-2.0", "BSD-2-Clause"}},
		"one that is left": {"GNU GENERAL PUBLIC LICENSE\nVersion 3", []string{"GPL"}},
		"lesser":           {"GNU LESSER GENERAL PUBLIC LICENSE Version 2.1", []string{"LGPL"}},
		"none":             {"All rights reserved.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify(tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	good := &module{path: "a", version: "v1", licences: []string{"MIT"}}
	if err := judge([]*module{good}); err != nil {
		t.Error(err)
	}
	for want, m := range map[string]*module{
		"b v1: GPL is not among":  {path: "b", version: "v1", licences: []string{"GPL", "MIT"}},
		"c v1: no known licence,": {path: "c", version: "v1", unknown: []string{"LICENSE"}},
	} {
		if err := judge([]*module{good, m}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestRead: the nearest licence counts, and an unknown licence is reported.
func TestRead(t *testing.T) {
	root := t.TempDir()
	inner := filepath.Join(root, "third_party", "b")
	if err := os.MkdirAll(filepath.Join(root, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(root, "LICENSE"):         "Apache License Version 2.0",
		filepath.Join(root, "LICENSE.docs"):    "ask us",
		filepath.Join(inner, "COPYING"):        "GNU General Public License version 2",
		filepath.Join(root, "a", "license.go"): "package a",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &module{}
	for _, dir := range []string{filepath.Join(root, "a"), inner} {
		if err := m.read(root, dir); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(m.licences, []string{"Apache-2.0", "GPL"}) || !slices.Equal(m.unknown, []string{"LICENSE.docs"}) {
		t.Errorf("licences %v, unknown %v", m.licences, m.unknown)
	}
}
