// Package shell builds the commands that messages show: from words, each of which is one word for the shell whatever it contains.
// Names come from clusters that need not be trusted, and commands are copied into terminals.
package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// plain are the runes, beside letters and digits, that no shell gives a meaning to.
const plain = "-_./:=,@%+"

// punctuation ends a word of a sentence.
const punctuation = ",.:"

// Quote protects a word from the shell, and from the sentence that it stands in.
func Quote(word string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(plain, r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 && strings.TrimRight(word, punctuation) == word {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Command returns a command of these words.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Kubectl builds commands for one cluster, because an object of the same name may be in use in another one.
type Kubectl struct {
	// Cluster is named in words before a command where no flags are known, as in a manager.
	Cluster string
	// Flags lead kubectl there, quoted: which context is the current one when the command is run is not known.
	Flags string
}

// Do returns a command of kubectl.
func (k Kubectl) Do(verb string, words ...string) string {
	command := Command(append([]string{verb}, words...)...)
	switch {
	case k.Flags != "":
		return "kubectl " + k.Flags + " " + command
	case k.Cluster != "":
		return "in cluster " + printed(k.Cluster) + ": kubectl " + command
	}
	return "kubectl " + command
}

// Migrate returns a command of the plugin, which has its flags behind its name.
func (k Kubectl) Migrate(verb string, words ...string) string {
	command := "kubectl migrate " + Command(append([]string{verb}, words...)...)
	switch {
	case k.Flags != "":
		return command + " " + k.Flags
	case k.Cluster != "":
		return "in cluster " + printed(k.Cluster) + ": " + command
	}
	return command
}

// printed is a name in the words before a command: text is copied with them, so no shell may take it for more than a word.
func printed(name string) string {
	if quoted := Quote(name); strings.ContainsAny(name, "'\"`$;&|<>\\\n\r") {
		return quoted
	}
	return name
}

// Format returns a command of kubectl whose words are filled in: each word of the format is one word for the shell, whatever its values
// contain. Quotes in the format hold a word together; a | between words leads into another command.
func (k Kubectl) Format(format string, values ...any) string {
	words := split(format)
	for i, word := range words {
		verbs := len(verb.FindAllString(word, -1))
		if verbs > 0 {
			words[i] = fmt.Sprintf(word, values[:min(verbs, len(values))]...)
			values = values[min(verbs, len(values)):]
		}
	}
	if pipe := slices.Index(split(format), "|"); pipe > 0 {
		return k.Do(words[0], words[1:pipe]...) + " | " + Command(words[pipe+1:]...)
	}
	return k.Do(words[0], words[1:]...)
}

// verb is where a format takes a value.
var verb = regexp.MustCompile(`%[sdvqt]`)

// split are the words of a format, without the quotes that hold them together.
func split(format string) (words []string) {
	var word strings.Builder
	quoted := false
	for _, r := range format + " " {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words = append(words, word.String())
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return words
}

// String begins a command, for what builds one otherwise: nothing should.
func (k Kubectl) String() string { return strings.TrimSuffix(k.Do("VERB"), " VERB") }
