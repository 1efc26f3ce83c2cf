// A picture leads to itself: alone it can be seen in any size. (The plugin glightbox of the site
// tool would load its parts from another host.)
for (const picture of document.querySelectorAll("article img")) {
  const link = document.createElement("a");
  link.href = picture.src;
  picture.replaceWith(link);
  link.append(picture);
}
