package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

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
