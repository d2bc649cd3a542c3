package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// krewFile is the manifest for `kubectl krew install --manifest`; it has the name of the plugin.
const krewFile = "migrate.yaml"

// plugin is the manifest of a plugin, in version krew.googlecontainertools.github.com/v1alpha2.
type plugin struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   pluginMetadata `json:"metadata"`
	Spec       pluginSpec     `json:"spec"`
}

type pluginMetadata struct {
	Name string `json:"name"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Caveats          string           `json:"caveats"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector metav1.LabelSelector `json:"selector"`
	URI      string               `json:"uri"`
	SHA256   string               `json:"sha256"`
	Bin      string               `json:"bin"`
	Files    []pluginFile         `json:"files"`
}

type pluginFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const pluginDescription = `Moves a running StatefulSet to another cluster or namespace, one ordinal at
a time, while the application keeps running. Each replica is stopped at the
source, its volumes are carried over, and it is started at the destination,
never more of them at once than the disruption budget allows. A move can be
interrupted and continued, paused, and rolled back.

Nothing needs to be installed in either cluster (kubectl migrate run). With
the manager (kubectl migrate install) moves go on by themselves.
`

const pluginCaveats = `Check first what stands in the way of a move; nothing is written:
  kubectl migrate preflight NAME --to-context CONTEXT
For completion of arguments by kubectl, once:
  kubectl migrate completion kubectl >/usr/local/bin/kubectl_complete-migrate
  chmod +x /usr/local/bin/kubectl_complete-migrate
`

// krew writes the manifest of the plugin, with the checksums of its archives.
func (r *release) krew(dir string) error {
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: pluginMetadata{"migrate"}}
	p.Spec = pluginSpec{
		Version: r.version, Homepage: "https://github.com/sliceshift/sliceshift",
		ShortDescription: "Move running StatefulSets to another cluster",
		Description:      pluginDescription, Caveats: pluginCaveats,
	}
	for _, platform := range r.platforms {
		system, arch, _ := strings.Cut(platform, "/")
		b := built{product: products[0], os: system, arch: arch}
		if !slices.Contains(b.systems, system) {
			continue
		}
		sum, err := sumOf(filepath.Join(dir, r.archiveName(b)))
		if err != nil {
			return err
		}
		p.Spec.Platforms = append(p.Spec.Platforms, pluginPlatform{
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{"os": system, "arch": arch}},
			URI:      r.url + "/" + r.version + "/" + r.archiveName(b), SHA256: sum, Bin: b.executable(),
			Files: []pluginFile{{b.executable(), "."}, {"LICENSE", "."}},
		})
	}
	data, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	return write(dir, krewFile, data)
}

// sumOf returns the SHA-256 of a file.
func sumOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
