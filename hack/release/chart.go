package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// chartName returns the name of the chart's archive.
func (r *release) chartName() string {
	return "sliceshift-" + strings.TrimPrefix(r.version, "v") + ".tgz"
}

// replacements returns the texts that differ between the released chart and its source.
func (r *release) replacements() map[string][]string {
	return map[string][]string{
		"Chart.yaml":  {"\nversion: 0.0.0-dev\n", "\nversion: " + strings.TrimPrefix(r.version, "v") + "\n", "\nappVersion: latest\n", "\nappVersion: " + r.version + "\n"},
		"values.yaml": {"\n  repository: sliceshift-manager\n", "\n  repository: " + r.image + "\n"},
	}
}

// chart packs the chart with the version, the image, and linked files. It does not use helm package, which writes the
// time of each file into the archive, so that the result would not be reproducible.
func (r *release) chart(dir string) error {
	root := filepath.Join(r.root, "charts", "sliceshift")
	names, err := filesBelow(root, "")
	if err != nil {
		return err
	}
	var entries []entry
	for _, name := range names {
		if path.Base(name) == "kustomization.yaml" {
			continue
		}
		data, err := r.read("charts", "sliceshift", filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if replaced := r.replacements()[name]; replaced != nil {
			text := string(data)
			for i := 0; i < len(replaced); i += 2 {
				if strings.Count(text, replaced[i]) != 1 {
					return fmt.Errorf("charts/sliceshift/%s does not have the line %q once", name, strings.TrimSpace(replaced[i]))
				}
			}
			data = []byte(strings.NewReplacer(spaced(replaced)...).Replace(text))
		}
		entries = append(entries, entry{"sliceshift/" + name, text644, data})
	}
	packed, err := tarGz(entries, r.time)
	if err != nil {
		return err
	}
	return write(dir, r.chartName(), packed)
}

// spaced removes the line break at the end of each text, so that two adjacent lines can be replaced.
func spaced(pairs []string) []string {
	trimmed := slices.Clone(pairs)
	for i := range trimmed {
		trimmed[i] = strings.TrimSuffix(trimmed[i], "\n")
	}
	return trimmed
}

// filesBelow returns the files of a folder, ordered by name. It follows links.
func filesBelow(root, below string) ([]string, error) {
	found, err := os.ReadDir(filepath.Join(root, below))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, each := range found {
		name := path.Join(below, each.Name())
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = append(names, name)
			continue
		}
		more, err := filesBelow(root, name)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}
