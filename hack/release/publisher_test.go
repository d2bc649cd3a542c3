package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/sliceshift/sliceshift/internal/manual"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/tool"
)

// publisher runs the commands on the pages about a release, in a checkout of the publisher and in the folders of a user.
type publisher struct {
	*testing.T
	*world
	// source is the folder of this repository; checkout is a checkout of the same files, as a commit.
	source, checkout string
	// downloads holds the files of the release that a user has downloaded, with a checkout.
	downloads string
	// bin is where programs are installed, and krew where krew keeps its plugins.
	bin, krew string
	env       []string
}

// place is where and when a command runs. The commands of a later place run after those of an earlier one.
type place struct {
	commands *regexp.Regexp
	dir      func(*publisher) string
	// ready runs before the first command.
	ready func(*publisher)
	// away is true if the commands need the registries. Their proxy leads nowhere else.
	away bool
}

// places covers every command; a command without a place fails the test.
var places = []place{
	{commands: regexp.MustCompile(`^(git tag|make release) `), dir: inCheckout},
	{commands: regexp.MustCompile(`^git push `), dir: inCheckout},
	{commands: regexp.MustCompile(`^(skopeo copy .*:out/release/|helm push )`), dir: inCheckout, away: true},
	{commands: regexp.MustCompile(`^(sha256sum |cd sliceshift && git checkout )`), dir: inDownloads, ready: (*publisher).download},
	{commands: regexp.MustCompile(`^kubectl krew install `), dir: inDownloads},
	{commands: regexp.MustCompile(`^skopeo copy `), dir: inDownloads, away: true},
	{commands: regexp.MustCompile(`^(make build|make build && sudo install .*|sudo install .*)$`), dir: inCheckout},
}

func inCheckout(p *publisher) string  { return p.checkout }
func inDownloads(p *publisher) string { return p.downloads }

// fills replaces the placeholders in a command.
var fills = strings.NewReplacer("OWNER", "acme", "REGISTRY", "registry.example.com", "VERSION", "v0.1.0", ":TAG", ":v1", "linux_amd64", "linux_"+runtime.GOARCH)

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	source := had(filepath.Abs("../.."))(t)
	dir := t.TempDir()
	p := &publisher{
		T: t, world: newWorld(t), source: source, checkout: filepath.Join(dir, "work"), downloads: filepath.Join(dir, "downloads"),
		bin: filepath.Join(dir, "bin"), krew: filepath.Join(dir, "krew"),
	}
	programs := p.programs(filepath.Join(dir, "programs"))
	p.env = append(slices.DeleteFunc(os.Environ(), fromMake),
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "PLATFORMS="+strings.Join(platforms, ","), "VERIFY=",
		"HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir, "KREW_ROOT="+p.krew, "KREW_NO_UPGRADE_CHECK=1",
		"REGISTRY_AUTH_FILE="+filepath.Join(dir, "auth.json"), "GIT_CONFIG_GLOBAL=/dev/null")
	p.commit(filepath.Join(dir, "origin"))
	return p
}

// fromMake reports whether make sets the variable for a make that it calls. Here a user calls make.
func fromMake(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VERSION", "REPOSITORY"}, name)
}

// programs returns a folder with the programs that the commands need in addition to git, make and skopeo.
func (p *publisher) programs(dir string) string {
	p.Helper()
	if _, err := exec.LookPath("skopeo"); err != nil {
		p.Fatalf("%v: make skopeo installs it on Debian", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.Fatal(err)
	}
	for name, of := range map[string]string{"helm": "helm", "kubectl-krew": "krew"} {
		if err := os.Symlink(had(tool.Path(p.Context(), of))(p.T), filepath.Join(dir, name)); err != nil {
			p.Fatal(err)
		}
	}
	binary := had(program.In{Dir: p.source}.Output(p.Context(), "go", "-C", "e2e", "run", "./cluster/build"))(p.T) // it includes kubectl
	put(p.T, dir, "kubectl", "#!/bin/sh\nexec '"+binary+"' kubectl \"$@\"\n", 0o755)
	return dir
}

// commit commits the current files of this repository in a checkout with an origin.
func (p *publisher) commit(origin string) {
	p.Helper()
	had((&release{root: p.source}).copySource(p.Context(), p.checkout))(p.T)
	p.git(p.checkout, "init", "-q", "-b", "main")
	p.git(p.checkout, "add", ".")
	p.git(p.checkout, "commit", "-q", "-m", "all")
	p.git(p.checkout, "init", "-q", "--bare", origin)
	p.git(p.checkout, "remote", "add", "origin", origin)
	p.git(p.checkout, "push", "-q", "origin", "main")
}

func (p *publisher) git(dir string, args ...string) string {
	p.Helper()
	env := []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0200", "GIT_CONFIG_GLOBAL=/dev/null"}
	return had(program.In{Dir: dir, Env: env}.Output(p.Context(), "git", args...))(p.T)
}

// download copies the files that were attached to the release for users, with a checkout next to them.
func (p *publisher) download() {
	p.Helper()
	if err := os.CopyFS(p.downloads, os.DirFS(filepath.Join(p.checkout, "out", "release"))); err != nil {
		p.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.downloads, "mover_v0.1.0_linux_arm64.tar.gz")); err != nil {
		p.Fatal(err)
	}
	p.git(p.checkout, "clone", "-q", "-b", "main", had(filepath.Abs(filepath.Join(p.checkout, "..", "origin")))(p.T), filepath.Join(p.downloads, "sliceshift"))
}

// run runs every command, each once.
func (p *publisher) run() {
	p.Helper()
	of := make([][]string, len(places))
	for _, c := range had(manual.Of(p.source, manual.Release))(p.T) {
		at := slices.IndexFunc(places, func(each place) bool { return each.commands.MatchString(c.Text) })
		if at < 0 {
			p.Fatalf("it is not known how to run %s", c)
		}
		if !slices.Contains(of[at], c.Text) {
			of[at] = append(of[at], c.Text)
		}
	}
	for i, each := range places {
		if len(of[i]) == 0 {
			p.Errorf("no page shows a command as %s", each.commands)
		}
		if each.ready != nil {
			each.ready(p)
		}
		for _, text := range of[i] {
			p.perform(each, text)
		}
	}
}

// perform runs a command as a user types it. It writes only to the test's folders.
func (p *publisher) perform(at place, text string) {
	p.Helper()
	text = strings.ReplaceAll(fills.Replace(text), "/usr/local/bin/", p.bin+"/")
	if err := os.MkdirAll(p.bin, 0o755); err != nil {
		p.Fatal(err)
	}
	cmd := exec.CommandContext(p.Context(), "bash", "-euo", "pipefail", "-c", "sudo() { \"$@\"; }\n"+text)
	cmd.Dir, cmd.Env = at.dir(p), p.env
	if at.away {
		cmd.Env = append(slices.Clone(p.env), p.world.env...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// expectPushed checks that both registries have the original image, for each platform, with its layers.
func (p *publisher) expectPushed(t *testing.T, digest string) {
	for _, name := range []string{"acme/sliceshift-manager", "sliceshift-manager"} {
		tag := map[string]string{"acme/sliceshift-manager": "v0.1.0", "sliceshift-manager": "v1"}[name]
		data, got := p.pulled(t, name+"/manifests/"+tag)
		if got != digest {
			t.Errorf("%s:%s is %s, and was made as %s", name, tag, got, digest)
		}
		var index v1.IndexManifest
		if err := json.Unmarshal(data, &index); err != nil {
			t.Fatal(err)
		}
		for _, each := range index.Manifests {
			manifest := p.expectManifest(t, name, each.Digest.String())
			if len(manifest.Layers) != 1 {
				t.Errorf("%s for %s has %d layers", name, each.Platform, len(manifest.Layers))
			}
		}
	}
}

// expectManifest checks that a manifest exists, with everything that it references.
func (p *publisher) expectManifest(t *testing.T, name, reference string) (manifest v1.Manifest) {
	t.Helper()
	data, _ := p.pulled(t, name+"/manifests/"+reference)
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	for _, blob := range append(manifest.Layers, manifest.Config) {
		if _, got := p.pulled(t, name+"/blobs/"+blob.Digest.String()); got != blob.Digest.String() {
			t.Errorf("%s has %s for %s", name, got, blob.Digest)
		}
	}
	return manifest
}

// expectChart checks that the registry has the original chart.
func (p *publisher) expectChart(t *testing.T, archive string) {
	const name = "acme/charts/sliceshift"
	manifest := p.expectManifest(t, name, "0.1.0")
	var digests []string
	for _, each := range manifest.Layers {
		digests = append(digests, each.Digest.String())
	}
	if diff := cmp.Diff([]string{"sha256:" + had(sumOf(archive))(t)}, digests); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

// expectInstalled checks that krew has installed the released program, and that a local build has no release version.
func (p *publisher) expectInstalled(t *testing.T) {
	for path, want := range map[string]string{filepath.Join(p.krew, "bin", "kubectl-migrate"): "v0.1.0", filepath.Join(p.bin, "kubectl-migrate"): "dev"} {
		said := had(program.In{}.Output(t.Context(), path, "version", "-o", "json"))(t)
		var version struct{ Version string }
		if err := json.Unmarshal([]byte(said), &version); err != nil || version.Version != want {
			t.Errorf("%s says %s, not %s", path, said, want)
		}
	}
}
