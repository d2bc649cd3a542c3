// Package printable escapes foreign text for display: names, messages and errors of clusters. Terminals interpret control
// characters. Bidirectional overrides and invisible characters make text look like other text. The package escapes both.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safe reports whether a rune can be displayed unchanged anywhere.
func safe(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f || r == '\n' || r == '\t'
	}
	return r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && !unicode.Is(unicode.Variation_Selector, r)
}

// Text escapes every rune that cannot be displayed, in the syntax of JSON, so that a JSON document keeps its values.
func Text(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !safe(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		escape(&out, r)
	}
	return out.String()
}

func escape(out *strings.Builder, r rune) {
	const basic = 0xffff
	switch {
	case safe(r), r == utf8.RuneError:
		out.WriteRune(r)
	case r == '\r':
		out.WriteString(`\r`)
	case r > basic:
		const surrogates, lead, trail, bits = 0x10000, 0xd800, 0xdc00, 10
		fmt.Fprintf(out, `\u%04x\u%04x`, lead+(r-surrogates)>>bits, trail+(r-surrogates)&(1<<bits-1))
	default:
		fmt.Fprintf(out, `\u%04x`, r)
	}
}

// colours are the escape sequences with which this program colours its own text.
var colours = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}

// Coloured is Text, but keeps the colour sequences of this program.
func Coloured(text string) string {
	var out strings.Builder
	for text != "" {
		at := strings.IndexByte(text, '\x1b')
		if at < 0 {
			out.WriteString(Text(text))
			break
		}
		out.WriteString(Text(text[:at]))
		text = text[at:]
		if n := coloured(text); n > 0 {
			out.WriteString(text[:n])
			text = text[n:]
			continue
		}
		out.WriteString(Text(text[:1]))
		text = text[1:]
	}
	return out.String()
}

func coloured(text string) int {
	for _, colour := range colours {
		if strings.HasPrefix(text, colour) {
			return len(colour)
		}
	}
	return 0
}
