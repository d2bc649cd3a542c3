package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/tool"
)

// platforms lists the tested platforms, each of which has an image.
var platforms = []string{"linux/amd64", "linux/arm64"}

// TestRelease builds a release, publishes it and builds it again elsewhere, with the exact commands of the pages: every
// byte is the same. It checks the files and the published artefacts as users would.
func TestRelease(t *testing.T) {
	p := newPublisher(t)
	p.run()
	r := &release{root: p.checkout, version: "v0.1.0", commit: p.git(p.checkout, "rev-parse", "HEAD"), image: "ghcr.io/acme/sliceshift-manager", platforms: platforms}
	one := filepath.Join(p.checkout, "out", "release")
	want := []string{
		"SHA256SUMS", "install.yaml", "kubectl-migrate_v0.1.0.cdx.json", "kubectl-migrate_v0.1.0_linux_amd64.tar.gz", "kubectl-migrate_v0.1.0_linux_arm64.tar.gz",
		"manager_v0.1.0.cdx.json", "manager_v0.1.0_linux_amd64.tar.gz", "manager_v0.1.0_linux_arm64.tar.gz", "migrate.yaml",
		"mover_v0.1.0.cdx.json", "mover_v0.1.0_linux_amd64.tar.gz", "mover_v0.1.0_linux_arm64.tar.gz", "sliceshift-0.1.0.tgz", "sliceshift-manager_v0.1.0_image.tar",
	}
	if diff := cmp.Diff(want, namesIn(t, one)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	t.Run("sums", func(t *testing.T) { checksums(t, one) })
	t.Run("program", func(t *testing.T) { programRuns(t, r, one) })
	t.Run("image", func(t *testing.T) { p.expectPushed(t, imageIsWhole(t, r, one)) })
	t.Run("chart", func(t *testing.T) { chartRenders(t, r, one) })
	t.Run("chart in the registry", func(t *testing.T) { p.expectChart(t, filepath.Join(one, r.chartName())) })
	t.Run("manifests", func(t *testing.T) { manifestsName(t, r, one) })
	t.Run("components", func(t *testing.T) { componentsAreListed(t, one) })
	t.Run("krew", func(t *testing.T) { p.expectInstalled(t) })
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	return names
}

// checksums verifies the checksums with sha256sum.
func checksums(t *testing.T, dir string) {
	out, err := program.In{Dir: dir}.Output(t.Context(), "sha256sum", "--strict", "--check", sumsFile)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(out, ": OK"), len(namesIn(t, dir))-1; got != want {
		t.Errorf("%d files are listed, %d are there", got, want)
	}
}

// unpacked returns the files of an archive, and their modes.
func unpacked(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var in io.Reader = bytes.NewReader(data)
	if !strings.HasSuffix(path, ".tar") {
		if in, err = gzip.NewReader(in); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string][]byte{}
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Uname != "" || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s is of %d %q at %s", header.Name, header.Uid, header.Uname, header.ModTime)
		}
		if found[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// programRuns checks that the command in its archive runs, prints its build, and is statically linked.
func programRuns(t *testing.T, r *release, dir string) {
	files := unpacked(t, filepath.Join(dir, r.archiveName(built{product: products[0], os: "linux", arch: runtime.GOARCH})))
	for _, name := range []string{"kubectl-migrate", "LICENSE", pluginCompletion} {
		if len(files[name]) == 0 {
			t.Errorf("%s is not in the archive", name)
		}
	}
	path := filepath.Join(t.TempDir(), "kubectl-migrate")
	if err := os.WriteFile(path, files["kubectl-migrate"], 0o700); err != nil {
		t.Fatal(err)
	}
	said, err := program.In{}.Output(t.Context(), path, "version", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var version struct{ Version, Commit, Date string }
	if err := json.Unmarshal([]byte(said), &version); err != nil || version.Version != r.version || version.Commit != r.commit || version.Date != "2023-11-14T22:13:20Z" {
		t.Errorf("it says %s", said)
	}
	if bytes.Contains(files["kubectl-migrate"], []byte(r.root+"/")) {
		t.Errorf("it names %s, where it was built", r.root)
	}
}

// imageIsWhole checks the image against its index, byte by byte, and the programs of each platform against the archives.
// It returns the digest of the index.
func imageIsWhole(t *testing.T, r *release, dir string) (digest string) {
	at := t.TempDir()
	for name, data := range unpacked(t, filepath.Join(dir, r.imageName())) {
		path := filepath.Join(at, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	all := had(layout.ImageIndexFromPath(at))(t)
	if err := validate.Index(all); err != nil {
		t.Fatal(err)
	}
	manifest := had(all.IndexManifest())(t)
	if got := manifest.Manifests[0].Annotations["io.containerd.image.name"]; len(manifest.Manifests) != 1 || got != r.image+":"+r.version {
		t.Errorf("it is called %q", got)
	}
	index := had(all.ImageIndex(manifest.Manifests[0].Digest))(t)
	var found []string
	for _, each := range had(index.IndexManifest())(t).Manifests {
		found = append(found, each.Platform.String())
		imageRuns(t, r, dir, each.Platform.Architecture, had(index.Image(each.Digest))(t))
	}
	if diff := cmp.Diff(r.platforms, found); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	return manifest.Manifests[0].Digest.String()
}

// imageRuns checks the architecture in the image for arch, and its programs.
func imageRuns(t *testing.T, r *release, dir, arch string, image v1.Image) {
	config := had(image.ConfigFile())(t)
	got := []any{config.OS, config.Architecture, config.Config.User, config.Config.Entrypoint, config.Config.Labels["org.opencontainers.image.version"]}
	if diff := cmp.Diff([]any{"linux", arch, "65532:65532", []string{"/manager"}, r.version}, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	layers := had(image.Layers())(t)
	if len(layers) != 1 {
		t.Fatalf("%d layers", len(layers))
	}
	layerIsWhole(t, r, dir, arch, had(layers[0].Uncompressed())(t))
}

// had returns the value, or fails the test on an error.
func had[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// layerIsWhole checks that the layer contains only the programs of the archives.
func layerIsWhole(t *testing.T, r *release, dir, arch string, content io.Reader) {
	var names []string
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, archive); err != nil {
			t.Fatal(err)
		}
		packed := unpacked(t, filepath.Join(dir, header.Name+"_"+r.version+"_linux_"+arch+".tar.gz"))[header.Name]
		if alone := sha256.Sum256(packed); hex.EncodeToString(alone[:]) != hex.EncodeToString(sum.Sum(nil)) || header.Mode != 0o755 {
			t.Errorf("/%s, mode %o, is not the program of its archive", header.Name, header.Mode)
		}
		names = append(names, header.Name)
	}
	if diff := cmp.Diff([]string{"manager", "mover"}, names); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}

// chartRenders checks that helm accepts the archive, and renders its version and image.
func chartRenders(t *testing.T, r *release, dir string) {
	helm, err := tool.Path(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, r.chartName())
	out, err := program.In{}.Output(t.Context(), helm, "template", "sliceshift", archive, "-n", "sliceshift-system")
	if err != nil {
		t.Fatal(err)
	}
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	if want := `image: "ghcr.io/acme/sliceshift-manager:v0.1.0"`; !strings.Contains(out, want) || strings.Count(out, "\nkind: CustomResourceDefinition\n") != len(crds) {
		t.Errorf("it lacks %s, or definitions:\n%.3000s", want, out)
	}
	shown, err := program.In{}.Output(t.Context(), helm, "show", "chart", archive)
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Version, AppVersion string }
	if err := yaml.Unmarshal([]byte(shown), &chart); err != nil || chart.Version != "0.1.0" || chart.AppVersion != "v0.1.0" {
		t.Errorf("got %+v: %v", chart, err)
	}
	if _, err := (program.In{}).Output(t.Context(), helm, "lint", "--strict", archive); err != nil {
		t.Error(err)
	}
}

func manifestsName(t *testing.T, r *release, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "image: " + r.image + ":" + r.version + "\n"; !strings.Contains(string(data), want) {
		t.Errorf("no %s", want)
	}
}

// componentsAreListed checks that the lists contain the linked modules with versions, and the program itself.
func componentsAreListed(t *testing.T, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "manager_v0.1.0.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if list.BOMFormat != "CycloneDX" || list.Metadata.Component.Version != "v0.1.0" {
		t.Errorf("it is of %+v", list.Metadata)
	}
	for _, want := range []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "std"} {
		if !slices.ContainsFunc(list.Components, func(c struct{ Name, Version string }) bool { return c.Name == want && c.Version != "" }) {
			t.Errorf("%s is not listed", want)
		}
	}
}
