package shell

import (
	"regexp"
	"strings"
)

// begin matches the start of a command in a text: a program that messages name.
var begin = regexp.MustCompile(`(?:^|[ (\n])((?:kubectl|helm) )`)

// commandVerbs are the verbs of such commands. Flags that select a cluster may precede them.
var commandVerbs = map[string]bool{
	"annotate": true, "apply": true, "auth": true, "cluster-info": true, "cordon": true, "create": true, "delete": true, "describe": true,
	"edit": true, "explain": true, "get": true, "label": true, "logs": true, "migrate": true, "patch": true, "rollout": true, "scale": true,
	"taint": true, "uncordon": true, "upgrade": true, "version": true,
}

// Commands returns the commands in a remedy, in order, as typed in a shell, without the text around them. A command ends
// before any rune that Quote does not leave bare, and before a comma or full stop at the end of a word. A command with an
// ellipsis is an example, and is left out.
func Commands(remedy string) []string {
	var found []string
	for remedy != "" {
		at := begin.FindStringSubmatchIndex(remedy)
		if at == nil {
			break
		}
		remedy = remedy[at[2]:]
		length := commandLength(remedy)
		example := strings.HasPrefix(strings.TrimLeft(remedy[length:], ","), "...")
		if command := remedy[:length]; hasVerb(command) && !example {
			found = append(found, command)
		}
		remedy = remedy[max(length, at[3]-at[2]-1):]
	}
	return found
}

// hasVerb reports whether one of the first words of a command is a known verb. The others are flags with their values.
func hasVerb(command string) bool {
	const most = 8 // --kubeconfig FILE --context NAME, and the flags that select a user
	words := strings.Fields(command)
	for _, word := range words[1:min(most, len(words))] {
		if commandVerbs[word] {
			return true
		}
	}
	return false
}

// commandLength returns the length of the command at the start of a text.
func commandLength(text string) int {
	end := 0
	for at := 0; at < len(text); {
		length, ends := wordLength(text[at:])
		if length == 0 {
			break
		}
		at += length
		end = at
		switch rest := text[at:]; {
		case ends:
			return end
		case strings.HasPrefix(rest, " | "), strings.HasPrefix(rest, " > "):
			at += len(" | ")
		case strings.HasPrefix(rest, " "):
			at++
		default:
			return end
		}
	}
	return end
}

// wordLength returns the length of the word at the start of a text, in the syntax of Quote. ends is true if punctuation of a
// sentence follows it.
func wordLength(text string) (length int, ends bool) {
	for length < len(text) {
		switch c := text[length]; {
		case c == '\'':
			closes := strings.IndexByte(text[length+1:], '\'')
			if closes < 0 {
				return length, false
			}
			length += closes + len("''")
		case c == '\\' && strings.HasPrefix(text[length:], `\'`):
			length += len(`\'`)
		case strings.IndexByte(plain, c) >= 0, c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			length++
		default:
			return trimmed(text, length)
		}
	}
	return trimmed(text, length)
}

// trimmed leaves out punctuation of a sentence. Quote leaves no word bare that ends with it.
func trimmed(text string, length int) (int, bool) {
	bare := len(strings.TrimRight(text[:length], punctuation))
	return bare, bare < length
}
