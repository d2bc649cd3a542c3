package main

import (
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

// environment is what a verb gets from the process: all that a test replaces.
type environment struct {
	genericiooptions.IOStreams
	clock clock.WithTicker
	// program is how the command is called: "migrate" or "kubectl migrate".
	program string
	args    []string
	getenv  func(string) string
	// hostname names the machine.
	hostname func() (string, error)
	// width is that of the terminal which Out is; 0 when it is none.
	width func() int
	// asks says whether a person can be asked: In and ErrOut are a terminal.
	asks func() bool
}

// programName is how people call a binary of this path. kubectl finds a plugin by
// the name kubectl-<words>, with a dash for each blank.
func programName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	if plugin, found := strings.CutPrefix(base, "kubectl-"); found {
		return "kubectl " + strings.NewReplacer("-", " ", "_", "-").Replace(plugin)
	}
	return base
}

// terminal says whether Out can be drawn on.
func (e environment) terminal() bool {
	return e.width() > 0 && e.getenv("TERM") != "dumb"
}

// unicode says whether the terminal shows more than ASCII. The first of these that
// is set decides (POSIX, Environment Variables).
func (e environment) unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(e.getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}

// again is the command line that was given, fit to be typed again.
func (e environment) again() string {
	words := []string{e.program}
	for _, arg := range e.args {
		words = append(words, quote(arg))
	}
	return strings.Join(words, " ")
}

// quote protects a word from the shell.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// example puts the command's name into examples.
func (e environment) example(text string) string {
	return strings.ReplaceAll(text, "  migrate ", "  "+e.program+" ")
}
