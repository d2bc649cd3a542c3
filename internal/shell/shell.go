// Package shell builds the commands in messages. Each argument becomes one word for the shell, whatever it contains. Names
// come from untrusted clusters, and users copy commands into terminals.
package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// plain are the runes, in addition to letters and digits, that have no meaning in any shell.
const plain = "-_./:=,@%+"

// punctuation may end a word in a sentence.
const punctuation = ",.:"

// Quote quotes a word for the shell, and for the sentence around it.
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

// Kubectl builds commands for one cluster, because another cluster may use an object of the same name.
type Kubectl struct {
	// Cluster is the name that precedes a command if no flags are known, as in a manager.
	Cluster string
	// Flags are the quoted flags that select the cluster, because the current context at the time of the command is unknown.
	Flags string
}

// Do returns a kubectl command.
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

// Remove returns two commands: the first keeps the manifest of an object in a file, from which kubectl create restores it, and the
// second deletes the object. It is for objects whose deletion deletes nothing else.
func (k Kubectl) Remove(resource, namespace, name string) string {
	file := strings.ReplaceAll(resource+"-"+name+".yaml", "/", "-")
	then := " && "
	if k.Flags == "" && k.Cluster != "" {
		then = ", then " // the name of the cluster precedes each command
	}
	return k.Do("get", resource, "-n", namespace, name, "-o", "yaml") + " > " + Quote(file) + then + k.Do("delete", resource, "-n", namespace, name)
}

// Migrate returns a command of the plugin, whose flags follow its verb.
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

// printed returns a name for the text before a command. Users copy the text too, so the name is quoted if a shell would
// interpret it.
func printed(name string) string {
	if quoted := Quote(name); strings.ContainsAny(name, "'\"`$;&|<>\\\n\r") {
		return quoted
	}
	return name
}

// Format returns a kubectl command from a format. Each word of the format becomes one word for the shell, whatever its
// values contain. Quotes in the format group a word. A | between words starts another command.
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

// verb matches a verb of a format.
var verb = regexp.MustCompile(`%[sdvqt]`)

// split returns the words of a format, without the grouping quotes.
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

// String returns the start of a command, for code that builds commands without this package, which should not exist.
func (k Kubectl) String() string { return strings.TrimSuffix(k.Do("VERB"), " VERB") }
