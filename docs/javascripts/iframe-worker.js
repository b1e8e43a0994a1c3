// The search of pages that are opened from a directory. Browsers refuse workers there, so a frame runs their script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      this.loaded = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
      });
      script.src = new URL(url, location);
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      this.loaded.then(() => this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data })));
    }
  };
}
