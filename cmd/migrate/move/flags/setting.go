package flags

import (
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// setting is a setting of a method in --volume, which is stored in S: KEY=VALUE, or a word.
type setting[S any] struct {
	// key, and the form of the value for the help; empty for a word.
	key, form string
	// read stores a value and reports whether it is valid.
	read func(to *S, value string) bool
	// back returns the value for the way back: empty if it is the default. It is nil if the setting is of the side that
	// the data went to.
	back func(from *S) string
}

// String returns the setting for the help.
func (s setting[S]) String() string {
	if s.form == "" {
		return s.key
	}
	return s.key + "=" + s.form
}

// oneWay returns the setting without a way back.
func (s setting[S]) oneWay() setting[S] {
	s.back = nil
	return s
}

// asForm returns the setting with its form as value of the way back, because only the user knows the value.
func (s setting[S]) asForm() setting[S] {
	value := s.back
	s.back = func(from *S) string {
		if value(from) == "" {
			return ""
		}
		return s.form
	}
	return s
}

// methodFlag is a method in --volume.
type methodFlag struct {
	// forms lists its settings for the help.
	forms string
	// read stores a setting, and reports whether it is known and valid. It is nil if the method has none.
	read func(to *api.VolumeSpec, word string) bool
	// back returns the settings of the way back.
	back func(api.VolumeSpec) []string
}

// settingsOf returns the method with these settings, which are stored in a part of a volume's spec.
func settingsOf[S any](part func(*api.VolumeSpec) *S, settings []setting[S]) methodFlag {
	var forms []string
	for _, s := range settings {
		forms = append(forms, s.String())
	}
	read := func(to *api.VolumeSpec, word string) bool {
		key, value, _ := strings.Cut(word, "=")
		nth := slices.IndexFunc(settings, func(s setting[S]) bool { return s.key == key })
		return nth >= 0 && settings[nth].read(part(to), value) && (settings[nth].form != "" || word == key)
	}
	back := func(v api.VolumeSpec) (words []string) {
		for _, s := range settings {
			if s.back == nil {
				continue
			}
			switch value := s.back(part(&v)); {
			case value == "":
			case s.form == "":
				words = append(words, s.key)
			default:
				words = append(words, s.key+"="+value)
			}
		}
		return words
	}
	return methodFlag{strings.Join(forms, ", "), read, back}
}

// word is a setting that is on if its word is given.
func word[S any](key string, at func(*S) *bool) setting[S] {
	read := func(to *S, _ string) bool {
		*at(to) = true
		return true
	}
	return setting[S]{key, "", read, func(from *S) string { return map[bool]string{true: key}[*at(from)] }}
}

// text is a setting with any text.
func text[S any](key, form string, at func(*S) *string) setting[S] {
	read := func(to *S, value string) bool {
		*at(to) = value
		return value != ""
	}
	return setting[S]{key, form, read, func(from *S) string { return *at(from) }}
}

// choice is a setting with an enumeration of the API, whose words do not repeat its key.
func choice[S any, T ~string](key string, at func(*S) *T, standard T, values ...T) setting[S] {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, strings.TrimPrefix(command.Word(value), key+"-"))
	}
	read := func(to *S, value string) bool {
		nth := slices.Index(words, value)
		if nth >= 0 {
			*at(to) = values[nth]
		}
		return nth >= 0
	}
	back := func(from *S) string {
		nth := slices.Index(values, *at(from))
		if nth < 0 || values[nth] == standard {
			return ""
		}
		return words[nth]
	}
	return setting[S]{key, strings.Join(words, "|"), read, back}
}

// parsed is a setting with a value that parse understands. parse returns nil if it does not.
func parsed[S, T any](key, form string, at func(*S) **T, parse func(string) *T, text func(*T) string) setting[S] {
	read := func(to *S, value string) bool {
		*at(to) = parse(value)
		return *at(to) != nil
	}
	back := func(from *S) string {
		if *at(from) == nil {
			return ""
		}
		return text(*at(from))
	}
	return setting[S]{key, form, read, back}
}
