package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/internal/program"
)

// TestDescribed: the version of a commit is accepted by krew and helm.
func TestDescribed(t *testing.T) {
	for name, tc := range map[string]struct {
		said  string
		err   error
		clean string
		dirty string
	}{
		"a release":                {"v1.2.3-0-gabc1234", nil, "v1.2.3", "v1.2.3-dirty"},
		"a candidate":              {"v1.2.3-rc.1-0-gabc1234", nil, "v1.2.3-rc.1", "v1.2.3-rc.1.dirty"},
		"behind a release":         {"v1.2.3-5-gabc1234", nil, "v1.2.3-dev.5", "v1.2.3-dev.5.dirty"},
		"behind a candidate":       {"v1.2.3-rc.1-5-gabc1234", nil, "v1.2.3-rc.1.dev.5", "v1.2.3-rc.1.dev.5.dirty"},
		"before the first release": {"", errors.New("no names found"), "v0.0.0-dev", "v0.0.0-dev.dirty"},
	} {
		t.Run(name, func(t *testing.T) {
			clean := described(tc.said, tc.err)
			if diff := cmp.Diff([]string{tc.clean, tc.dirty}, []string{clean, clean + dirtied(clean)}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, version := range []string{tc.clean, tc.dirty} {
				if !semantic.MatchString(version) {
					t.Errorf("%s is not semantic", version)
				}
			}
		})
	}
}

// repository returns a git repository with one commit.
func repository(t *testing.T) (dir string, git func(args ...string)) {
	t.Helper()
	dir = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		env := []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0200", "GIT_CONFIG_GLOBAL=/dev/null"}
		if _, err := (program.In{Dir: dir, Env: env}).Output(t.Context(), "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	put(t, dir, "a/b", "text", 0o755)
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".gitignore", "ignored\n", 0o644)
	git("add", ".")
	git("commit", "-q", "-m", "first")
	return dir, git
}

func put(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

// TestFromGit: version, commit and time are those of the commit. Other tags do not count, and a changed checkout is
// marked.
func TestFromGit(t *testing.T) {
	dir, git := repository(t)
	git("tag", "other")
	read := func(version string) (*release, error) {
		r := &release{version: version, progress: t.Output()}
		return r, r.fromGit(t.Context(), filepath.Join(dir, "a"))
	}
	r, err := read("")
	if err != nil || r.version != "v0.0.0-dev" || !r.time.Equal(time.Unix(1700000000, 0)) || len(r.commit) != 40 {
		t.Errorf("got %+v, %v", r, err)
	}
	git("tag", "v1.0.0")
	if r, err = read(""); err != nil || r.version != "v1.0.0" {
		t.Errorf("got %s, %v", r.version, err)
	}
	put(t, dir, "new", "", 0o644)
	if r, err = read(""); err != nil || r.version != "v1.0.0-dirty" {
		t.Errorf("got %s, %v", r.version, err)
	}
	for _, version := range []string{"1.2.3", "v1.2", "latest", "v1.2.3+meta"} {
		if _, err := read(version); err == nil || !strings.Contains(err.Error(), "not of the form") {
			t.Errorf("%s: got %v", version, err)
		}
	}
}

// TestCopySource: the copy has the files of the source, without ignored and deleted ones.
func TestCopySource(t *testing.T) {
	dir, _ := repository(t)
	put(t, dir, "ignored", "", 0o644)
	put(t, dir, "new", "n", 0o644)
	r := &release{root: dir}
	to, err := r.copySource(t.Context(), filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".gitignore", "a", "link", "new"}, namesIn(t, to)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(to, "link", "b"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("got %v, %v", info, err)
	}
	if err := os.Remove(filepath.Join(dir, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if to, err = r.copySource(t.Context(), filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, "a", "b")); !os.IsNotExist(err) {
		t.Errorf("what was deleted was copied: %v", err)
	}
}

// TestSameSums: the error names the files that differ.
func TestSameSums(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, other} {
		put(t, dir, "same", "a", 0o644)
		put(t, dir, "other", dir, 0o644)
	}
	put(t, one, "alone", "", 0o644)
	if err := errors.Join(writeSums(one), writeSums(other)); err != nil {
		t.Fatal(err)
	}
	err := sameSums(one, other)
	if err == nil || !strings.Contains(err.Error(), "other differs") || !strings.Contains(err.Error(), "alone differs, or is made only once") || strings.Contains(err.Error(), "same") {
		t.Errorf("got %v", err)
	}
	if err := sameSums(one, one); err != nil {
		t.Error(err)
	}
}

// TestKrewPlatforms: every platform of the plugin has its archive, checksum and program.
func TestKrewPlatforms(t *testing.T) {
	dir := t.TempDir()
	r := &release{version: "v1.2.3", url: "https://example.com", platforms: []string{"linux/arm64", "windows/amd64"}}
	put(t, dir, "kubectl-migrate_v1.2.3_linux_arm64.tar.gz", "", 0o644)
	put(t, dir, "kubectl-migrate_v1.2.3_windows_amd64.zip", "", 0o644)
	if err := r.krew(dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, krewFile))
	if err != nil {
		t.Fatal(err)
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, want := range []string{
		"uri: https://example.com/v1.2.3/kubectl-migrate_v1.2.3_linux_arm64.tar.gz", "uri: https://example.com/v1.2.3/kubectl-migrate_v1.2.3_windows_amd64.zip",
		"bin: kubectl-migrate\n", "bin: kubectl-migrate.exe\n", "sha256: " + empty, "os: windows", "name: migrate\n",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("it lacks %q:\n%s", want, data)
		}
	}
}
