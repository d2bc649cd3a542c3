package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readFile checks the keys of the file, then reads it into viper.
func (in *input) readFile() error {
	if in.path == "" {
		return nil
	}
	data, err := os.ReadFile(in.path)
	if err != nil {
		return fmt.Errorf("read configuration file: %w", err)
	}
	root, err := parse(data)
	if err != nil {
		return fmt.Errorf("file %s: %w", in.path, err)
	}
	keys := newKeys(in.path)
	keys.walk(root, nil)
	if len(keys.problems) > 0 {
		return errors.Join(keys.problems...)
	}
	in.inFile = keys.set
	in.viper.SetConfigType("yaml")
	if err := in.viper.ReadConfig(bytes.NewReader(data)); err != nil {
		return fmt.Errorf("file %s: %w", in.path, err)
	}
	return nil
}

// parse returns the only document of the file, or nil when it is empty.
func parse(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("holds more than one YAML document")
	}
	return document.Content[0], nil
}

// keys checks the keys of a file before viper reads it, because viper ignores the case of keys and drops unknown keys
// where it expects a section.
type keys struct {
	path     string
	leaves   map[string]bool
	sections map[string]bool
	set      map[string]bool
	problems []error
}

func newKeys(path string) *keys {
	k := &keys{path: path, leaves: map[string]bool{}, sections: map[string]bool{"": true}, set: map[string]bool{}}
	for _, s := range settings() {
		k.leaves[s.key] = true
		if section, _, found := strings.Cut(s.key, "."); found {
			k.sections[section] = true
		}
	}
	return k
}

// walk checks a node whose key is the given path.
func (k *keys) walk(node *yaml.Node, path []string) {
	key := strings.Join(path, ".")
	switch {
	case node == nil || node.Tag == "!!null": // treated as absent
	case k.leaves[key]:
		k.set[key] = true
		if node.Kind != yaml.ScalarNode {
			k.problem(node, "%s must be one value, not a list or a section", key)
		}
	case !k.sections[key]:
		k.problem(node, "unknown key %q", key)
	case node.Kind != yaml.MappingNode:
		k.problem(node, "%s must be a section with keys of its own", describe(key))
	default:
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i]
			child := node.Content[i+1]
			k.walk(at(child, name.Line), append(slices.Clip(path), name.Value))
		}
	}
}

// at returns the node with the line of its key, where a reader looks.
func at(node *yaml.Node, line int) *yaml.Node {
	moved := *node
	moved.Line = line
	return &moved
}

func describe(key string) string {
	if key == "" {
		return "the file"
	}
	return key
}

func (k *keys) problem(node *yaml.Node, format string, args ...any) {
	k.problems = append(k.problems, fmt.Errorf("file %s, line %d: %s", k.path, node.Line, fmt.Sprintf(format, args...)))
}
