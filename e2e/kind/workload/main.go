// Command workload is the application that the tests on kind move. It appends a line a second to the journal on its
// volume. It refuses to start on a volume that is not its own, that is incomplete, or that another process writes to.
//
//	workload run [DIR...]        write in each, and serve port 8080, or ADDRESS (OWNER, POD_UID, NODE_NAME; CHURN: overwrite BULK)
//	workload seed DIR FOLDER...  create each folder, with a journal of the owner that it names (BULK: add that many MiB)
//	workload drain DURATION      act as the preStop hook: make the running process drain for that time
//	workload get DURATION URL    print the page, and retry for that time
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/internal/program"
)

func main() {
	program.Run("workload", func(ctx context.Context) error { return command(ctx, os.Args[1:]) })
}

func command(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "run":
		return run(ctx, args[1:])
	case len(args) > 2 && args[0] == "seed":
		return seed(args[1], args[2:])
	case len(args) == 2 && args[0] == "drain":
		return drain(ctx, args[1])
	case len(args) == 3 && args[0] == "get":
		return get(ctx, args[1], args[2])
	}
	return fmt.Errorf("usage: workload {run [DIR...]|seed DIR FOLDER...|drain DURATION|get DURATION URL}, got %q", args)
}

// seed fails if the folder exists. It may be within another one.
func seed(dir string, folders []string) error {
	for _, folder := range folders {
		volume := filepath.Join(dir, folder)
		if err := os.MkdirAll(filepath.Dir(volume), 0o777); err != nil {
			return err
		}
		if err := os.Mkdir(volume, 0o777); err != nil {
			return err
		}
		first := journal.First(filepath.Base(folder), time.Now()).String() + "\n"
		if err := os.WriteFile(filepath.Join(volume, fileName), []byte(first), 0o666); err != nil {
			return err
		}
		if err := bulk(filepath.Join(volume, bulkName), os.Getenv("BULK")); err != nil {
			return err
		}
	}
	return nil
}

// bulk writes a file of the given size in MiB that is not compressible.
func bulk(path, mib string) error {
	if mib == "" {
		return nil
	}
	size, err := strconv.ParseInt(mib, 10, 64)
	if err != nil {
		return fmt.Errorf("BULK: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, rand.Reader, size<<20)
	return errors.Join(err, file.Close())
}

func drain(ctx context.Context, duration string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1"+address+"/drain?for="+duration, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("drain: %s", response.Status)
	}
	return nil
}

// get prints a page. It resolves the name in the URL again at each attempt.
func get(ctx context.Context, patience, url string) error {
	limit, err := time.ParseDuration(patience)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var reason error // of the last attempt that was not interrupted
	for ctx.Err() == nil {
		page, err := fetch(ctx, url)
		if err == nil {
			_, err = os.Stdout.WriteString(page)
			return err
		}
		if ctx.Err() == nil || reason == nil {
			reason = err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return fmt.Errorf("not within %s: %w", limit, reason)
}

func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, response.Status)
	}
	page, err := io.ReadAll(response.Body)
	return string(page), err
}
