package main

import "strings"

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
