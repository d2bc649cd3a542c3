package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/internal/program"
)

// allPlatforms lists the platforms of a release.
var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// product is a published program.
type product struct {
	// name is the name of its file and archive; path is its package.
	name, path string
	// systems lists the systems that it runs on.
	systems []string
	// imaged is true if the image contains it.
	imaged bool
}

// products lists the programs. The mover is only for Linux, because it keeps the file attributes of Linux. The manager
// is also for other systems, so that users can try it on their own machine next to a cluster.
var products = []product{
	{name: "kubectl-migrate", path: "./cmd/migrate", systems: []string{"linux", "darwin", "windows"}},
	{name: "manager", path: "./cmd/manager", systems: []string{"linux", "darwin"}, imaged: true},
	{name: "mover", path: "./cmd/mover", systems: []string{"linux"}, imaged: true},
}

// built is a program for a platform.
type built struct {
	product
	os, arch string
	// file is the path of the program.
	file string
}

// executable returns the file name that its system requires.
func (b built) executable() string {
	if b.os == "windows" {
		return b.name + ".exe"
	}
	return b.name
}

// build builds every program for every platform that it runs on.
func (r *release) build(ctx context.Context, dir string) ([]built, error) {
	var all []built
	for _, platform := range r.platforms {
		system, arch, found := strings.Cut(platform, "/")
		if !found {
			return nil, fmt.Errorf("platform %q is not of the form linux/amd64", platform)
		}
		for _, p := range products {
			if !slices.Contains(p.systems, system) {
				continue
			}
			b := built{product: p, os: system, arch: arch}
			b.file = filepath.Join(dir, system+"_"+arch, b.executable())
			fmt.Fprintf(r.progress, "%s for %s\n", p.name, platform)
			if err := r.compile(ctx, b); err != nil {
				return nil, err
			}
			all = append(all, b)
		}
	}
	return all, nil
}

// versionPackage holds the variables that are set in every program.
const versionPackage = "github.com/sliceshift/sliceshift/internal/version"

// compile builds one program. The result does not depend on this machine: no path, no cgo, no build ID. The version is a
// parameter, because the source may not be a repository.
func (r *release) compile(ctx context.Context, b built) error {
	flags := fmt.Sprintf("-s -w -buildid= -X %s.Version=%s -X %[1]s.Commit=%[3]s -X %[1]s.Date=%[4]s", versionPackage, r.version, r.commit, r.time.UTC().Format(time.RFC3339))
	if strings.Contains(r.image, "/") { // a name without a registry cannot be pulled
		flags += fmt.Sprintf(" -X %s.Image=%s:%s", versionPackage, r.image, r.version)
	}
	_, err := r.goIn("GOOS="+b.os, "GOARCH="+b.arch).Output(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", b.file, b.path)
	return err
}

// goIn returns an environment for Go without the settings of this machine.
func (r *release) goIn(env ...string) program.In {
	fixed := []string{
		"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=off",
		"GOTOOLCHAIN=local", // the one that runs this
	}
	return program.In{Dir: r.root, Env: slices.Concat(fixed, env, r.env)}
}

// manifests writes the manifests for kubectl.
func (r *release) manifests(ctx context.Context, dir string) error {
	text, err := r.goIn("GOFLAGS=-trimpath").Output(ctx, "go", "run", "./cmd/migrate", "install", "--dry-run=client", "-o", "yaml", "--image", r.image+":"+r.version)
	if err != nil {
		return err
	}
	return write(dir, "install.yaml", []byte(text+"\n"))
}

// write writes a file of the release.
func write(dir, name string, data []byte) error {
	return os.WriteFile(filepath.Join(dir, name), data, 0o644) //nolint:gosec // it is to be read
}

// krewFile is the manifest for `kubectl krew install --manifest`; it has the name of the plugin.
const krewFile = "migrate.yaml"

const pluginDescription = `Moves a running StatefulSet to another cluster or namespace, one ordinal at
a time, while the application keeps running. Each replica is stopped at the
source, its volumes are carried over, and it is started at the destination,
never more of them at once than the disruption budget allows. A move can be
interrupted and continued, paused, and rolled back.

Nothing needs to be installed in either cluster (kubectl migrate run). With
the manager (kubectl migrate install) moves continue without the command.
`

const pluginCaveats = `Check first what stands in the way of a move; nothing is written:
  kubectl migrate preflight NAME --to-context CONTEXT
For completion of arguments by kubectl, once:
  kubectl migrate completion kubectl >/usr/local/bin/kubectl_complete-migrate
  chmod +x /usr/local/bin/kubectl_complete-migrate
`

// krew writes the manifest of the plugin, with the checksums of its archives.
func (r *release) krew(dir string) error {
	type fields = map[string]any
	var platforms []fields
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
		platforms = append(platforms, fields{
			"selector": fields{"matchLabels": fields{"os": system, "arch": arch}},
			"uri":      r.url + "/" + r.version + "/" + r.archiveName(b), "sha256": sum, "bin": b.executable(),
			"files": []fields{{"from": b.executable(), "to": "."}, {"from": "LICENSE", "to": "."}},
		})
	}
	data, err := yaml.Marshal(fields{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": fields{"name": "migrate"},
		"spec": fields{
			"version": r.version, "homepage": "https://github.com/sliceshift/sliceshift", "platforms": platforms,
			"shortDescription": "Move running StatefulSets to another cluster", "description": pluginDescription, "caveats": pluginCaveats,
		},
	})
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
